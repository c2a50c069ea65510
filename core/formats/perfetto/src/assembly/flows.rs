//! Flows: a message where they lead from one rank to another, a launch where they lead to a GPU.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, RankId, TimeNs};
use callgrove_source::{LaneNumber, RankEvents};

/// A point of a flow on its lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedPoint {
    pub(crate) id: u64,
    pub(crate) time: TimeNs,
    pub(crate) ends: bool,
    pub(crate) rank: RankId,
    pub(crate) lane: LaneNumber,
    pub(crate) is_gpu: bool,
    /// End of the slice that begins with it.
    pub(crate) slice_end: Option<TimeNs>,
}

/// Adds the messages and launches of flows.
pub(crate) fn connect(mut points: Vec<PlacedPoint>, ranks: &mut BTreeMap<RankId, RankEvents>) {
    points.sort_by_key(|it| (it.id, it.time, it.ends));
    let mut num_messages = 0;
    for flow in points.chunk_by(|a, b| a.id == b.id) {
        let (mut last, mut thread): (Option<PlacedPoint>, Option<PlacedPoint>) = (None, None);
        for &point in flow {
            if point.is_gpu
                && let Some(by) = thread.filter(|it| it.rank == point.rank)
                && let Some(events) = ranks.get_mut(&point.rank)
            {
                events.launch(point.lane, point.time, by.lane, by.time);
            } else if let Some(before) = last.filter(|it| it.rank != point.rank) {
                // A receive that waits begins before its send.
                let is_waiting = before.ends && !point.ends;
                let (sent, received) = if is_waiting {
                    (point, before)
                } else {
                    (before, point)
                };
                add_message(sent, received, num_messages, ranks);
                num_messages += 1;
            }
            let is_complete = last.is_some_and(|it| it.ends != point.ends);
            last = Some(point).filter(|_| !is_complete);
            if !point.is_gpu {
                thread = Some(point);
            }
        }
    }
}

/// Adds a message. Its number is its tag, so that messages of the same ranks are not confused.
fn add_message(
    sent: PlacedPoint,
    received: PlacedPoint,
    tag: u64,
    ranks: &mut BTreeMap<RankId, RankEvents>,
) {
    let late = received.slice_end.filter(|_| received.time < sent.time);
    let arrival = late.unwrap_or(received.time);
    if let Some(events) = ranks.get_mut(&sent.rank) {
        events.message(sent.lane, sent.time, CommKind::Send, received.rank, tag, 0);
    }
    if let Some(events) = ranks.get_mut(&received.rank) {
        events.message(received.lane, arrival, CommKind::Recv, sent.rank, tag, 0);
    }
}
