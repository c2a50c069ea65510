//! Adds the sizes of calls, and the calls of the host that wait for a GPU.

use callgrove_source::LaneIdentity;

use super::assembler::ChromeAssembly;
use crate::recorder::{AwaitedWork, LaunchEnd, LaunchPair, on_axis};

impl ChromeAssembly {
    /// Adds the sizes of calls and the waits for a GPU; `synchronized` are the calls of synchronisations, and `pairs` the
    /// launches. A call that synchronises with a stream without work does not wait.
    pub(crate) fn add_gpu_facts(&mut self, synchronized: &[LaunchEnd], pairs: &[LaunchPair]) {
        let base_ns = self.facts.base_ns;
        let facts = std::mem::take(&mut self.recorder.gpu_facts);
        for &((row, start_ns), num_bytes) in &facts.sizes {
            if let Some((rank, lane)) = self.lane(row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                events.size(lane, on_axis(start_ns, base_ns), num_bytes);
            }
        }
        let collectives: Vec<_> = self.recorder.collectives.sizes().collect();
        for (row, start_ns, num_bytes) in collectives {
            if let Some((rank, lane)) = self.lane(row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                events.size(lane, on_axis(start_ns, base_ns), num_bytes);
            }
        }
        for ((row, start_ns), work) in facts.waits(synchronized, pairs) {
            let Some((rank, lane)) = self.lane(row) else {
                continue;
            };
            let of_row = match work {
                AwaitedWork::Row(row) => self.lane(row).filter(|it| it.0 == rank),
                AwaitedWork::All | AwaitedWork::Stream { .. } => None,
            };
            let Some(events) = self.events.get_mut(&rank) else {
                continue;
            };
            let stream = match work {
                AwaitedWork::All => None,
                AwaitedWork::Row(_) => of_row.map(|it| it.1),
                AwaitedWork::Stream { device, stream } => {
                    events.existing_lane(LaneIdentity::Stream { device, stream })
                }
            };
            if stream.is_some() || work == AwaitedWork::All {
                events.device_wait(lane, on_axis(start_ns, base_ns), stream);
            }
        }
    }
}
