#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| brinkwatch::targets::initial_offsets::run(data));
