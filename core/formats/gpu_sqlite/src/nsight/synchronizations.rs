//! Rows of synchronisations, and of the events of CUDA that some of them wait for.
//!
//! Source: `CUpti_ActivitySynchronization2` and `CUpti_ActivityCudaEvent2` in NVIDIA's CUPTI reference.

use crate::nsight::global_id::process_of;
use crate::process::WaitTarget;
use crate::profiled_run::ProfiledRun;
use crate::scan::Cells;

/// The number of a stream or an event that a row does not have, in 32 bits.
const NOT_STATED: u64 = 0xFFFF_FFFF;

/// A synchronisation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synchronization {
    kind: SynchronizationKind,
    device: u64,
    stream: Option<u64>,
    correlation: u64,
    event: Option<u64>,
    event_sync: Option<u64>,
}

/// The kind of a synchronisation, by `syncType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SynchronizationKind {
    Unknown,
    /// The host waits for an event.
    Event,
    /// A stream waits for an event, and the host does not.
    StreamWait,
    /// The host waits for a stream.
    Stream,
    /// The host waits for all streams of a context.
    Context,
}

/// The streams in which events were recorded. Processes are given by their indices.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents {
    /// Process, number that joins an event with a synchronisation, stream.
    by_sync: Vec<(usize, u64, StreamKey)>,
    /// Process, event, correlation of the call that recorded it, stream.
    by_event: Vec<(usize, u64, u64, StreamKey)>,
    is_sorted: bool,
}

/// A stream: the GPU and its number there.
type StreamKey = (u64, u64);

impl Synchronization {
    /// Returns the synchronisation of a row.
    pub(super) fn of(cells: &Cells<'_>) -> Self {
        let stated = |column| cells.id(column).filter(|it| *it != NOT_STATED);
        Self {
            kind: match cells.integer(6) {
                Some(1) => SynchronizationKind::Event,
                Some(2) => SynchronizationKind::StreamWait,
                Some(3) => SynchronizationKind::Stream,
                Some(4) => SynchronizationKind::Context,
                _ => SynchronizationKind::Unknown,
            },
            device: cells.id(3).unwrap_or_default(),
            stream: stated(4),
            correlation: cells.id(5).unwrap_or(u64::MAX),
            event: stated(7),
            event_sync: cells.id(8).filter(|it| *it != 0),
        }
    }

    /// Returns the name of its call.
    pub(super) fn name(self) -> &'static str {
        match self.kind {
            SynchronizationKind::Unknown => "Sync",
            SynchronizationKind::Event => "Event Sync",
            SynchronizationKind::StreamWait => "Stream Wait Event Sync",
            SynchronizationKind::Stream => "Stream Sync",
            SynchronizationKind::Context => "Context Sync",
        }
    }

    /// Returns what the host waits for; `None` if it does not wait, or that is unknown.
    pub(super) fn target(self, process: usize, events: &mut RecordedEvents) -> Option<WaitTarget> {
        let of_stream = |(device, stream)| WaitTarget::Stream { device, stream };
        match self.kind {
            SynchronizationKind::Unknown | SynchronizationKind::StreamWait => None,
            SynchronizationKind::Context => Some(WaitTarget::All),
            SynchronizationKind::Stream => {
                let stream = self.stream.map(|stream| (self.device, stream));
                Some(stream.map_or(WaitTarget::All, of_stream))
            }
            SynchronizationKind::Event => {
                let stream = events.stream(process, &self);
                Some(stream.map_or(WaitTarget::All, of_stream))
            }
        }
    }
}

impl RecordedEvents {
    /// Processes a row.
    pub(super) fn take(&mut self, cells: &Cells<'_>, run: &mut ProfiledRun) -> Option<()> {
        let correlation = cells.id(3);
        let process = match cells.id(0) {
            Some(global) => process_of(global),
            None => run.process_of_launch(correlation).unwrap_or_default(),
        };
        let process = run.process_index(process)?;
        let stream = (cells.id(1).unwrap_or_default(), cells.id(2)?);
        if let Some(sync) = cells.id(5).filter(|it| *it != 0) {
            self.by_sync.push((process, sync, stream));
        }
        if let (Some(event), Some(correlation)) = (cells.id(4), correlation) {
            self.by_event.push((process, event, correlation, stream));
        }
        self.is_sorted = false;
        Some(())
    }

    /// Returns the stream in which the event of a synchronisation was recorded last before it.
    fn stream(&mut self, process: usize, it: &Synchronization) -> Option<StreamKey> {
        if !self.is_sorted {
            self.by_sync.sort_unstable();
            self.by_event.sort_unstable();
            self.is_sorted = true;
        }
        let of_sync = it.event_sync.and_then(|sync| {
            let key = (process, sync);
            let list = &self.by_sync;
            let at = list.partition_point(|it| (it.0, it.1) < key);
            list.get(at).filter(|it| (it.0, it.1) == key)
        });
        if let Some((.., stream)) = of_sync {
            return Some(*stream);
        }
        let key = (process, it.event?);
        let after = (key.0, key.1, it.correlation);
        let list = &self.by_event;
        let at = list.partition_point(|it| (it.0, it.1, it.2) < after);
        let before = list.get(at.checked_sub(1)?)?;
        ((before.0, before.1) == key).then_some(before.3)
    }
}
