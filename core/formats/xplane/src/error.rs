//! Faults of a file that leave nothing to show.

use std::path::PathBuf;

/// The reason why an XPlane file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum XplaneError {
    /// No thread and no device has events.
    #[error(
        "none of its {num_planes} planes has events of a thread or a device, so there are no calls to show; was the \
         program idle while it was profiled?: {}",
        .path.display()
    )]
    NoEvents {
        /// Number of its planes.
        num_planes: usize,
        /// The file.
        path: PathBuf,
    },
}
