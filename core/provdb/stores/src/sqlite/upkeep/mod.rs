//! Upkeep of a folder of SQLite files.

mod backup;
mod compact;
mod exclusive;
mod retain;
mod upgrade;

pub use backup::BackupSummary;
pub(crate) use backup::back_up;
pub use compact::CompactSummary;
pub(crate) use compact::compact;
pub(crate) use retain::retain;
pub use upgrade::UpgradeSummary;
pub(crate) use upgrade::upgrade;
