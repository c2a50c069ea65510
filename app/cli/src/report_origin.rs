//! Who makes a report, and when.

use std::time::{SystemTime, UNIX_EPOCH};

use callgrove_headless::default_folder;
use callgrove_model::TimeNs;
use callgrove_report::ReportOrigin;
use callgrove_session::Host as _;

use crate::host::NativeHost;

/// Returns who makes a report, when, and with which version.
pub(crate) fn origin() -> ReportOrigin {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since_epoch.map_or(0, |since| since.as_nanos());
    ReportOrigin {
        at: TimeNs(i64::try_from(now_ns).unwrap_or(i64::MAX)),
        by: NativeHost::new(default_folder()).user(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: String::new(),
    }
}
