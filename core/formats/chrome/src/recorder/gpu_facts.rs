//! Facts about calls and GPUs: sizes of copies, and calls of the host that wait for a GPU.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::HostWait;

use super::launches::{LaunchEnd, LaunchPair};
use super::rows::RowNumber;
use crate::events::CallArguments;

/// A call: its row, and its start in nanoseconds since the time that the file states.
pub(crate) type CallStart = (RowNumber, i64);

/// The work that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AwaitedWork {
    /// All work of the process, or that of a stream that is not stated.
    All,
    /// The work of a stream.
    Stream { device: u64, stream: u64 },
    /// The work on a row.
    Row(RowNumber),
}

/// The facts that a file states.
#[derive(Debug, Default)]
pub(crate) struct GpuFacts {
    /// Sizes of copies and memory sets in bytes.
    pub(crate) sizes: Vec<(CallStart, u64)>,
    /// Calls that wait by their names.
    named_waits: BTreeSet<CallStart>,
    /// Calls that wait for the copy that they start.
    blocking_copies: BTreeSet<CallStart>,
    /// Copies from and to the memory of the host.
    host_copies: BTreeSet<CallStart>,
    /// Synchronisations, by the correlation of their call.
    synchronizations: BTreeMap<i64, AwaitedWork>,
}

impl GpuFacts {
    /// Processes the name of a call of a programming interface.
    pub(super) fn add_host_wait(&mut self, call: CallStart, wait: HostWait) {
        match wait {
            HostWait::Device | HostWait::Stream => self.named_waits.insert(call),
            HostWait::Copy => self.blocking_copies.insert(call),
        };
    }

    /// Processes work on a GPU.
    pub(super) fn add_work(&mut self, call: CallStart, num_bytes: Option<u64>, is_host_copy: bool) {
        self.sizes.extend(num_bytes.map(|it| (call, it)));
        if is_host_copy {
            self.host_copies.insert(call);
        }
    }

    /// Processes a synchronisation. If a stream waits for another one, the host does not wait.
    pub(super) fn add_synchronization(&mut self, arguments: &CallArguments) {
        let Some(correlation) = arguments.correlation else {
            return;
        };
        let device = arguments.device.unwrap_or_default();
        let of_stream = |stream| AwaitedWork::Stream { device, stream };
        let work = match (arguments.awaited_stream, arguments.stream) {
            (Some(_), Some(_)) => return,
            (Some(stream), None) | (None, Some(stream)) => of_stream(stream),
            (None, None) => AwaitedWork::All,
        };
        self.synchronizations.insert(correlation, work);
    }

    /// Returns those of the calls of programming interfaces for which there is a synchronisation.
    pub(crate) fn synchronized(&self, calls: &[LaunchEnd]) -> Vec<LaunchEnd> {
        if self.synchronizations.is_empty() {
            return Vec::new();
        }
        let is_stated = |it: &&LaunchEnd| self.synchronizations.contains_key(&it.correlation);
        calls.iter().filter(is_stated).copied().collect()
    }

    /// Returns the calls that wait; `synchronized` are those of [`GpuFacts::synchronized`]. What a synchronisation states is preferred to what a name says. Cost: O(n log n).
    pub(crate) fn waits(
        &self,
        synchronized: &[LaunchEnd],
        pairs: &[LaunchPair],
    ) -> BTreeMap<CallStart, AwaitedWork> {
        let named = self.named_waits.iter();
        let mut waits: BTreeMap<_, _> = named.map(|call| (*call, AwaitedWork::All)).collect();
        let start = |it: &LaunchEnd| (it.row, it.start_ns);
        for pair in pairs {
            let (call, work) = (start(&pair.by), start(&pair.work));
            if self.blocking_copies.contains(&call) && self.host_copies.contains(&work) {
                waits.insert(call, AwaitedWork::Row(pair.work.row));
            }
        }
        for call in synchronized {
            if let Some(work) = self.synchronizations.get(&call.correlation) {
                waits.insert(start(call), *work);
            }
        }
        waits
    }
}
