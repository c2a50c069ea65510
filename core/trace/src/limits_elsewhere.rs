//! A system that holds a process to no limits: whoever waits for it ends it.

use std::time::Duration;

/// Nothing can be done here.
pub(crate) fn limit_this_process(_: Duration, _: u64) {}
