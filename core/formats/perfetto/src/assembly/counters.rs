//! The samples of counters, on the lanes of their threads or processes.

use std::collections::BTreeMap;

use callgrove_model::{CounterId, RankId, WarningKind};
use callgrove_source::{LaneNumber, RowCounts};

use super::assembler::Assembly;
use crate::recorder::{CounterValue, TraceRecorder, TrackSample};
use crate::tracks::Processes;

/// Name of a counter that has none.
const NO_NAME: &str = "unnamed counter";

impl Assembly {
    /// Adds counters. Those that are tracks belong to the thread above them, or to the main
    /// thread of their process.
    pub(crate) fn add_counters(
        &mut self,
        recorder: &mut TraceRecorder,
        processes: &Processes,
        main: &BTreeMap<RankId, LaneNumber>,
    ) {
        let samples = std::mem::take(&mut recorder.counters);
        let num_tracks = recorder.tracks.tracks.len();
        let counts = RowCounts::of(samples.iter().map(|it| it.track.index()), num_tracks);
        let lane_of = |track: usize| {
            let track = Some(track).filter(|track| counts.has_events(*track))?;
            self.lane_of_counter(track, recorder, (processes, main))
        };
        let lanes: Vec<_> = (0..num_tracks).map(lane_of).collect();
        counts.reserve_samples(&lanes, &mut self.ranks);
        let mut counters = BTreeMap::new();
        for sample in samples {
            let (time, track) = (self.time(sample.at), sample.track.index());
            let counter = match sample.counter {
                Some(counter) => counter,
                None => *counters
                    .entry(track)
                    .or_insert_with(|| counter_of(track, recorder)),
            };
            let Some(value) = value_of(&sample, recorder) else {
                let place = || format!("counter at {} ns", time.0);
                self.warnings.count(WarningKind::BadRow, None, place);
                continue;
            };
            let placed = lanes.get(track).copied().flatten();
            let lane = placed.and_then(|(rank, lane)| Some((self.ranks.get_mut(&rank)?, lane)));
            if let Some((events, lane)) = lane {
                events.counter(lane, time, counter, value);
            }
        }
    }

    fn lane_of_counter(
        &self,
        track: usize,
        recorder: &TraceRecorder,
        (processes, main): (&Processes, &BTreeMap<RankId, LaneNumber>),
    ) -> Option<(RankId, LaneNumber)> {
        let place = |track: usize| {
            let placed = (*self.placed.get(track)?)?;
            Some((placed.rank, placed.lane))
        };
        let parent = || {
            let parent = recorder.tracks.tracks.get(track)?.parent?;
            place(recorder.tracks.find(parent)?)
        };
        let process = || {
            let rank = processes.get(track).filter(|it| it.has_rank)?.rank;
            Some((rank, *main.get(&rank)?))
        };
        place(track).or_else(parent).or_else(process)
    }
}

/// Returns the counter that a track is.
fn counter_of(track: usize, recorder: &mut TraceRecorder) -> CounterId {
    let track = recorder.tracks.tracks.get(track);
    let name = track.and_then(|it| it.name.as_deref()).unwrap_or(NO_NAME);
    let unit = track.and_then(|it| it.counter.as_ref()?.unit.as_deref());
    let name = match unit {
        Some(unit) => format!("{name} ({unit})"),
        None => name.to_owned(),
    };
    recorder.counter_of(&name)
}

/// Returns the value of a sample in whole units, or `None` if it is negative or not a number.
fn value_of(sample: &TrackSample, recorder: &TraceRecorder) -> Option<u64> {
    let track = recorder.tracks.tracks.get(sample.track.index());
    let counter = track.and_then(|it| it.counter.as_ref());
    let multiplier = match sample.counter {
        None => counter.map_or(1, |it| it.multiplier),
        Some(_) => 1,
    };
    match sample.value() {
        CounterValue::Integer(value) => u64::try_from(value.checked_mul(multiplier)?).ok(),
        CounterValue::Double(value) => whole(value, multiplier),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked; a multiplier is a small number"
)]
fn whole(value: f64, multiplier: i64) -> Option<u64> {
    let value = value * multiplier as f64;
    (0.0..=2_f64.powi(63))
        .contains(&value)
        .then_some(value as u64)
}
