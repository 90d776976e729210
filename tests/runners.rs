//! zklock under the programs that people start it from.

mod ci;
mod wrappers;
