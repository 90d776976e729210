#![no_main]

#[path = "../src/configuration.rs"]
mod configuration;

use zklock_fuzz::shown;

libfuzzer_sys::fuzz_target!(|data: &[u8]| configuration::check(data));
