//! Counts of the events of rows, so that memory for them is reserved once.

use std::collections::BTreeMap;

use callgrove_model::RankId;

use super::rank_events::{LaneEvents, LaneNumber, RankEvents};

/// The number of events of each row of a file, which is a track or a thread of a process, by its index.
#[derive(Clone, Debug)]
pub struct RowCounts(Vec<usize>);

impl RowCounts {
    /// Counts events, each given by the index of its row. Rows from `num_rows` on are ignored.
    pub fn of(events: impl Iterator<Item = usize>, num_rows: usize) -> Self {
        let mut counts = vec![0; num_rows];
        for row in events {
            if let Some(count) = counts.get_mut(row) {
                *count += 1;
            }
        }
        Self(counts)
    }

    /// Returns whether a row has events.
    pub fn has_events(&self, row: usize) -> bool {
        self.0.get(row).is_some_and(|count| *count > 0)
    }

    /// Reserves memory for this many messages, and for no more, in the lanes of the rows.
    pub fn reserve_messages(
        &self,
        lanes: &[Option<(RankId, LaneNumber)>],
        ranks: &mut BTreeMap<RankId, RankEvents>,
    ) {
        let reserve = |lane: &mut LaneEvents, count| lane.messages.reserve_exact(count);
        self.reserve(lanes, ranks, reserve);
    }

    /// Reserves memory for this many counter samples, and for no more, in the lanes of the rows.
    pub fn reserve_samples(
        &self,
        lanes: &[Option<(RankId, LaneNumber)>],
        ranks: &mut BTreeMap<RankId, RankEvents>,
    ) {
        let reserve = |lane: &mut LaneEvents, count| lane.counters.reserve_exact(count);
        self.reserve(lanes, ranks, reserve);
    }

    /// Several rows may be on one lane, whose memory is to be reserved once.
    fn reserve(
        &self,
        lanes: &[Option<(RankId, LaneNumber)>],
        ranks: &mut BTreeMap<RankId, RankEvents>,
        reserve: impl Fn(&mut LaneEvents, usize),
    ) {
        let mut by_lane: BTreeMap<(RankId, LaneNumber), usize> = BTreeMap::new();
        for (lane, count) in lanes.iter().zip(&self.0) {
            if let Some(lane) = *lane {
                *by_lane.entry(lane).or_default() += count;
            }
        }
        for ((rank, lane), count) in by_lane {
            let lanes = ranks.get_mut(&rank).map(|events| &mut events.lanes);
            if let Some(lane) = lanes.and_then(|lanes| lanes.get_mut(lane.0)) {
                reserve(lane, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rank_events::LaneIdentity;
    use super::*;

    #[test]
    fn events_are_counted_by_row_and_their_memory_is_reserved_by_lane() {
        let counts = RowCounts::of([0, 2, 2, 9].into_iter(), 3);
        let has_events = [0, 1, 2, 9].map(|row| counts.has_events(row));
        assert_eq!(has_events, [true, false, true, false]);
        let mut events = RankEvents::default();
        let lane = events.lane(LaneIdentity::Thread(7));
        let mut ranks = BTreeMap::from([(RankId(4), events)]);
        let lanes = [Some((RankId(4), lane)), None, Some((RankId(4), lane))];
        counts.reserve_messages(&lanes, &mut ranks);
        let lane = &ranks[&RankId(4)].lanes[0];
        assert_eq!((lane.messages.capacity(), lane.counters.capacity()), (3, 0));
    }
}
