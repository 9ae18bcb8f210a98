#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| brinkwatch::targets::commit_log::run(data));
