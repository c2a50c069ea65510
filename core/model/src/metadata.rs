//! The metadata that processes and threads report about themselves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{ProgramId, RankId, ThreadId};

/// An entry of the run's metadata.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metadata {
    /// Program, which [`crate::Trace::assemble`] sets.
    #[serde(default)]
    pub program: ProgramId,
    /// Rank that reported it.
    pub rank: RankId,
    /// Thread that reported it.
    pub thread: ThreadId,
    /// Key, such as `Hostname`.
    pub key: String,
    /// Value.
    pub value: String,
}

/// A fact that a metadata entry states. Formats without keys of their own use [`Property::key`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Name of the host.
    Host,
    /// Process id.
    ProcessId,
    /// Start of the process, in microseconds since the epoch.
    Start,
    /// Path of the executable.
    Executable,
    /// Command line.
    CommandLine,
    /// GPU of a thread that is a stream of it.
    GpuDevice,
    /// Context of that stream.
    GpuContext,
    /// Number of that stream, or of the queue of HIP.
    GpuStream,
    /// Name of a thread.
    ThreadName,
    /// The calls of a thread mirror waits of the host for a GPU: they are no work of a thread or a stream. The value
    /// says what they wait for, but has no fixed form.
    MirrorsWaits,
}

impl Property {
    /// Returns the keys that state it, the preferred one first. They are those of TAU, because records and stored runs
    /// have them.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Host => &["Hostname", "Node Name"],
            Self::ProcessId => &["pid"],
            Self::Start => &["Starting Timestamp", "Timestamp"],
            Self::Executable => &["Executable"],
            Self::CommandLine => &["Command Line"],
            Self::GpuDevice => &["CUDA Device", "ROCM_GPU_ID"],
            Self::GpuContext => &["CUDA Context"],
            Self::GpuStream => &["CUDA Stream", "ROCM_QUEUE_ID"],
            Self::ThreadName => &["Thread Name"],
            Self::MirrorsWaits => &["Mirrors Waits"],
        }
    }

    /// Returns the key under which a reader reports it.
    pub const fn key(self) -> &'static str {
        self.keys()[0]
    }

    /// Returns the value that the lowest thread reports under the preferred key.
    pub fn of(self, metadata: &[Metadata]) -> Option<&str> {
        self.keys().iter().find_map(|key| {
            let entries = metadata.iter().filter(|it| it.key == *key);
            let value = entries.min_by_key(|it| it.thread)?.value.trim();
            (!value.is_empty()).then_some(value)
        })
    }

    /// Returns whether an entry states this.
    pub fn is_in(self, entry: &Metadata) -> bool {
        self.keys().contains(&entry.key.as_str())
    }
}

/// Returns the host of each rank that states one.
pub fn hosts_by_rank(metadata: &[Metadata]) -> BTreeMap<(ProgramId, RankId), &str> {
    let mut hosts = BTreeMap::new();
    for key in Property::Host.keys() {
        for entry in metadata.iter().filter(|it| it.key == *key) {
            let rank = (entry.program, entry.rank);
            hosts.entry(rank).or_insert(entry.value.as_str());
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(rank: u32, thread: u32, key: &str, value: &str) -> Metadata {
        Metadata {
            program: ProgramId(0),
            rank: RankId(rank),
            thread: ThreadId(thread),
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn the_preferred_key_and_the_lowest_thread_count() {
        let metadata = [
            entry(0, 0, "Node Name", "node"),
            entry(0, 1, "Hostname", "second"),
            entry(0, 0, "Hostname", "first"),
            entry(1, 0, "Node Name", "other"),
            entry(1, 0, "pid", " "),
        ];
        assert_eq!(Property::Host.of(&metadata), Some("first"));
        assert_eq!(Property::ProcessId.of(&metadata), None);
        let hosts = hosts_by_rank(&metadata);
        assert_eq!(hosts[&(ProgramId(0), RankId(1))], "other");
        assert!(Property::GpuStream.is_in(&entry(0, 3, "ROCM_QUEUE_ID", "1")));
    }
}
