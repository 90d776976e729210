#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zklock_fuzz::configuration::check(data));
