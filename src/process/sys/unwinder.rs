//! The unwinder, which Rust's standard library takes from libgcc, is linked in: zklock needs no library besides the C
//! library (docs/decisions.md, 5).

// SAFETY: declares no function. The linker takes the standard library's symbols from the archive, which is part of the
// same libgcc as the shared library.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}
