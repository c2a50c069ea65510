//! The lanes of a file that Callgrove wrote.

use std::collections::BTreeMap;

use callgrove_source::RowCounts;

use super::assembler::ChromeAssembly;
use crate::recorder::{OwnEventKind, OwnEvents, on_axis};

impl ChromeAssembly {
    /// Adds the facts about lanes in a file that Callgrove wrote.
    pub(crate) fn add_own_events(&mut self) {
        let base_ns = self.facts.base_ns;
        let own = self.recorder.own.take().unwrap_or_default();
        self.reserve(&own);
        for it in own.messages {
            if let Some((rank, lane)) = self.lane(it.row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                let time = on_axis(it.time_ns, base_ns);
                events.message(lane, time, it.kind, it.partner, it.tag, it.num_bytes);
            }
        }
        for it in own.samples {
            if let Some((rank, lane)) = self.lane(it.row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                events.counter(lane, on_axis(it.time_ns, base_ns), it.counter, it.value);
            }
        }
        // Lanes may be described after the waits for them.
        let (mut streams, mut waits) = (BTreeMap::new(), Vec::new());
        for event in own.others {
            let Some((rank, lane)) = self.lane(event.row) else {
                continue;
            };
            let Some(events) = self.events.get_mut(&rank) else {
                continue;
            };
            let time = on_axis(event.time_ns, base_ns);
            match event.kind {
                OwnEventKind::Thread(thread) => {
                    streams.insert((rank, thread), lane);
                    events.set_thread(lane, thread);
                }
                OwnEventKind::Size(num_bytes) => events.size(lane, time, num_bytes),
                OwnEventKind::DeviceWait(None) => events.device_wait(lane, time, None),
                OwnEventKind::DeviceWait(Some(stream)) => {
                    waits.push((rank, lane, time, stream));
                }
                OwnEventKind::Collective(communicator, sequence) => {
                    events.collective(lane, time, communicator, sequence);
                }
                OwnEventKind::TracerWrite(duration_ns) => {
                    let end_ns = event.time_ns.saturating_add(duration_ns);
                    events.tracer_write(lane, time, on_axis(end_ns, base_ns));
                }
                OwnEventKind::Metadata(key, value) => events.metadata(lane, key, value),
            }
        }
        for (rank, lane, time, stream) in waits {
            if let Some(stream) = streams.get(&(rank, stream))
                && let Some(events) = self.events.get_mut(&rank)
            {
                events.device_wait(lane, time, Some(*stream));
            }
        }
    }

    /// Reserves memory for messages and samples, whose number is known.
    fn reserve(&mut self, own: &OwnEvents) {
        let num_rows = self.lanes.len();
        let messages = RowCounts::of(own.messages.iter().map(|it| it.row.index()), num_rows);
        messages.reserve_messages(&self.lanes, &mut self.events);
        let samples = RowCounts::of(own.samples.iter().map(|it| it.row.index()), num_rows);
        samples.reserve_samples(&self.lanes, &mut self.events);
    }
}
