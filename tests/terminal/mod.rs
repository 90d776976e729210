//! On a terminal, zklock with a command behaves like the command alone.

mod keys;
mod steps;
mod without_a_shell;
