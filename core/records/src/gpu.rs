//! GPU kernels and the CPU calls that launched them.
//!
//! Each device, context and stream is numbered like a thread and named in the metadata ([`Property::GpuDevice`]); HIP
//! has no contexts. A launch on the CPU and its kernel on the GPU each carry a counter `Correlation ID` of the same
//! value. Either may come first, and in an earlier step than the other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callgrove_model::{Metadata, Property, ThreadId};
use callgrove_provdb::GpuLocation;

/// The counter that pairs a launch with its kernel.
pub const CORRELATION_ID: &str = "Correlation ID";

/// Number of launches that are remembered for kernels in later steps. A kernel starts soon after its launch, so an
/// older launch went to a device that is not traced.
const MAX_LAUNCHES: usize = 1 << 16;

/// The threads of a rank that are streams of a GPU.
#[derive(Debug, Default)]
pub struct GpuThreads {
    locations: BTreeMap<ThreadId, GpuLocation>,
}

impl GpuThreads {
    /// Processes one metadata entry.
    pub fn learn(&mut self, entry: &Metadata) {
        let field: fn(&mut GpuLocation) -> &mut u32 = if Property::GpuDevice.is_in(entry) {
            |it| &mut it.device
        } else if Property::GpuContext.is_in(entry) {
            |it| &mut it.context
        } else if Property::GpuStream.is_in(entry) {
            |it| &mut it.stream
        } else {
            return;
        };
        let Ok(value) = entry.value.trim().parse::<u64>() else {
            return;
        };
        // A ROCm queue may be given by its address; the lower half is enough to identify it.
        let value = u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
        let thread = entry.thread;
        let location = self.locations.entry(thread).or_insert_with(|| GpuLocation {
            context: 0,
            device: 0,
            stream: 0,
            thread: thread.0,
        });
        *field(location) = value;
    }

    /// Returns the location of a thread on a GPU; `None` for a CPU thread.
    pub fn location(&self, thread: ThreadId) -> Option<&GpuLocation> {
        self.locations.get(&thread)
    }
}

/// Values by correlation id, for the newest `MAX_LAUNCHES` ids.
#[derive(Debug)]
pub struct Launches<T> {
    by_id: BTreeMap<u64, Arc<T>>,
    /// Ids in order of arrival.
    order: VecDeque<u64>,
}

impl<T> Default for Launches<T> {
    fn default() -> Self {
        Self {
            by_id: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Launches<T> {
    /// Adds a launch. If an id is reused, it means the newest launch.
    pub fn remember(&mut self, id: u64, launch: Arc<T>) {
        if self.by_id.insert(id, launch).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > MAX_LAUNCHES {
            if let Some(oldest) = self.order.pop_front() {
                self.by_id.remove(&oldest);
            }
        }
    }

    /// Returns the launch with an id.
    pub fn get(&self, id: u64) -> Option<&Arc<T>> {
        self.by_id.get(&id)
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{ProgramId, RankId};

    use super::*;

    fn entry(thread: u32, key: &str, value: &str) -> Metadata {
        Metadata {
            program: ProgramId(0),
            rank: RankId(0),
            thread: ThreadId(thread),
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn gpu_streams_are_recognized_by_their_metadata() {
        let mut threads = GpuThreads::default();
        for entry in [
            entry(0, "Hostname", "n1"),
            entry(3, "CUDA Device", "1"),
            entry(3, "CUDA Context", "8"),
            entry(3, "CUDA Stream", "7"),
            entry(4, "CUDA Stream", "none"),
            entry(5, "TAU_TASK_ID", "5"),
            entry(5, "ROCM_GPU_ID", "2"),
            entry(5, "ROCM_QUEUE_ID", "3"),
            entry(6, "ROCM_QUEUE_ID", "140737353875456"),
        ] {
            threads.learn(&entry);
        }
        let location = threads.location(ThreadId(3)).unwrap();
        assert_eq!(
            (
                location.device,
                location.context,
                location.stream,
                location.thread
            ),
            (1, 8, 7, 3)
        );
        let location = threads.location(ThreadId(5)).unwrap();
        assert_eq!(
            (location.device, location.context, location.stream),
            (2, 0, 3)
        );
        assert!(
            threads.location(ThreadId(6)).is_some(),
            "a queue by its address"
        );
        assert!(threads.location(ThreadId(0)).is_none() && threads.location(ThreadId(4)).is_none());
    }

    #[test]
    fn launches_are_remembered_up_to_a_limit() {
        let mut launches = Launches::default();
        for id in 0..=MAX_LAUNCHES as u64 {
            launches.remember(id, Arc::new(id));
        }
        launches.remember(5, Arc::new(99));
        assert!(launches.get(0).is_none(), "the oldest is dropped first");
        assert_eq!(launches.get(5).map(|launch| **launch), Some(99));
    }
}
