#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tightwire_fuzz::replication(data));
