//! The lanes of a file that Callgrove wrote.

use std::collections::BTreeMap;

use crate::assembly::ChromeAssembly;
use crate::launches::on_axis;
use crate::own_file::{OwnEventKind, OwnEvents};

impl ChromeAssembly {
    /// Adds what a file that Callgrove wrote states about lanes.
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
        for event in own.others {
            let Some((rank, lane)) = self.lane(event.row) else {
                continue;
            };
            let Some(events) = self.events.get_mut(&rank) else {
                continue;
            };
            let time = on_axis(event.time_ns, base_ns);
            match event.kind {
                OwnEventKind::Thread(thread) => events.set_thread(lane, thread),
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
    }

    /// Reserves memory for messages and samples, whose number is known.
    fn reserve(&mut self, own: &OwnEvents) {
        let mut of_lane: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        let mut of_row = vec![(0, 0); self.lanes.len()];
        for it in own.messages.iter() {
            of_row
                .get_mut(it.row.index())
                .into_iter()
                .for_each(|num| num.0 += 1);
        }
        for it in own.samples.iter() {
            of_row
                .get_mut(it.row.index())
                .into_iter()
                .for_each(|num| num.1 += 1);
        }
        for (lane, (num_messages, num_samples)) in self.lanes.iter().zip(of_row) {
            if let Some(lane) = *lane {
                let num = of_lane.entry(lane).or_default();
                *num = (num.0 + num_messages, num.1 + num_samples);
            }
        }
        for ((rank, lane), (num_messages, num_samples)) in of_lane {
            if let Some(events) = self.events.get_mut(&rank) {
                events.reserve(lane, num_messages, num_samples);
            }
        }
    }
}
