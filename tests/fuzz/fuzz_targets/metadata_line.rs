#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| brinkwatch::targets::metadata_line::run(data));
