//! Collectives that not all members of their group entered.
//!
//! | step | module |
//! |---|---|
//! | lists the collectives of each group, by member | `groups` |
//! | decides which members never entered the next collective while others are in it | `missing` |
//! | finds where a missing rank is instead | `whereabouts` |
//! | makes each finding the root of all delays that follow from it | `attribution` |

mod attribution;
mod groups;
mod missing;
mod whereabouts;

pub(super) use attribution::Hangs;
