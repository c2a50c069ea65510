//! Visits of places that are too short to be late. A run has a hundred times more of these than of others, so only
//! their durations are kept, which determine what is usual at their places.

use callgrove_model::{DurationNs, LaneIdx};

use super::numbers::index;

/// The durations of the short visits of all places, by place and lane.
#[derive(Debug, Default)]
pub struct ShortVisits {
    of_place: Vec<OfPlace>,
}

#[derive(Debug, Default)]
struct OfPlace {
    /// The durations in nanoseconds, lane by lane.
    durations_ns: Vec<u16>,
    /// The lanes, ascending, each with the index of its first duration.
    lanes: Vec<(LaneIdx, usize)>,
}

impl ShortVisits {
    /// Adds a visit after those of the same place and of earlier lanes; returns false, and adds nothing, if its duration
    /// has more than 16 bits.
    pub fn add(&mut self, place: u32, lane: LaneIdx, duration: DurationNs) -> bool {
        let Ok(duration_ns) = u16::try_from(duration.0) else {
            return false;
        };
        let at = index(place);
        if at >= self.of_place.len() {
            self.of_place.resize_with(at + 1, OfPlace::default);
        }
        let of_place = &mut self.of_place[at];
        if of_place.lanes.last().is_none_or(|last| last.0 != lane) {
            of_place.lanes.push((lane, of_place.durations_ns.len()));
        }
        of_place.durations_ns.push(duration_ns);
        true
    }

    /// Returns the durations at a place in nanoseconds, by lane, ascending.
    pub fn by_lane(&self, place: u32) -> impl Iterator<Item = (LaneIdx, &[u16])> {
        let of_place = self.of_place.get(index(place));
        of_place.into_iter().flat_map(|it| {
            let ends = it.lanes.iter().skip(1).map(|next| next.1);
            let ends = ends.chain([it.durations_ns.len()]);
            let lanes = it.lanes.iter().zip(ends);
            lanes.map(|(&(lane, from), to)| (lane, &it.durations_ns[from..to]))
        })
    }
}
