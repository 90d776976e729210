#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zklock_fuzz::connect_strings::check(data));
