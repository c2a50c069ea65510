//! Upkeep of a folder of SQLite files.

mod backup;
mod compact;
mod exclusive;
mod retain;
mod upgrade;

pub(crate) use backup::back_up;
pub(crate) use compact::compact;
pub(crate) use retain::retain;
pub(crate) use upgrade::upgrade;
