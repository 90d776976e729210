//! First come, first served: no contender overtakes another that it excludes, in any mixture of kinds.

mod schedules;
