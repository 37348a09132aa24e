#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| devarray_fuzz::arrow::run(data));
