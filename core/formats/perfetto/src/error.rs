//! Faults of a trace that leave nothing to show.

use std::path::PathBuf;

/// The reason why a trace cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PerfettoError {
    /// It contains no track events, but other kinds of records.
    #[error(
        "it has no track events, so there are no calls to show (it has {num_packets} packets of other kinds, such as \
         scheduling); record it with the track_event data source, as the Perfetto SDK, TAU and rocprofv3 do: {}",
        .path.display()
    )]
    NoTrackEvents {
        /// Number of its packets.
        num_packets: u64,
        /// The file.
        path: PathBuf,
    },
    /// No event has a time that can be converted.
    #[error(
        "none of its {num_events} track events has a time of a clock that the trace defines; the packet with the clock \
         snapshot is missing, so write the trace again, or cut it behind that packet: {}",
        .path.display()
    )]
    NoTimes {
        /// Number of its track events.
        num_events: u64,
        /// The file.
        path: PathBuf,
    },
}
