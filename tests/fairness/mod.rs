//! First come, first served: nobody overtakes whom it excludes, in any mixture of kinds.

mod model;
mod schedules;
