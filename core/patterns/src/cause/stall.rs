//! Stalls: gaps so long that the run has hardly any like them.

use serde::{Deserialize, Serialize};

use callgrove_model::{
    DurationNs, ExecIdx, ExecRef, Executions, GapLengths, LaneIdx, TimeNs, Trace,
};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::gap::for_each_gap;
use super::set_up::{OncePlace, SetUp, once};

/// One gap in so many is long.
const ONE_IN: u64 = 1_000;

/// A time in which nothing happened on a lane, unusually long. Times are on the common clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stall {
    /// The innermost call that is open meanwhile.
    pub(super) call: ExecRef,
    /// From here.
    pub(super) start: TimeNs,
    /// To here.
    pub(super) end: TimeNs,
    /// Until here it is known to have waited for messages that were not sent yet; `start` if for none.
    pub(super) due: TimeNs,
}

impl Stall {
    pub(super) fn lane(&self) -> LaneIdx {
        self.call.lane
    }

    pub(super) fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }

    /// How long both stall.
    pub(super) fn overlap(&self, other: &Self) -> DurationNs {
        let start = self.start.max(other.start);
        start.max(self.end.min(other.end)).since(start)
    }
}

/// The stalls of a run by lane, then time.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct Stalls {
    all: Vec<Stall>,
    /// Where each lane begins, and the end.
    from: Vec<usize>,
    /// Gaps longer than this are stalls.
    pub(super) least: DurationNs,
}

impl Stalls {
    /// Finds them. Cost: linear in events, twice.
    pub(super) fn find(trace: &Trace, clocks: &Clocks, kinds: &[CallKind]) -> Self {
        let mut lengths = GapLengths::default();
        for lane in &trace.lanes {
            let begun = begun(&lane.executions);
            for_each_gap(&lane.executions, |gap| {
                if gap.end > begun {
                    lengths.add(gap.end.since(gap.start));
                }
            });
        }
        let least = lengths.exceeded_by_one_in(ONE_IN);
        let mut found: Vec<(Stall, Option<OncePlace>)> = Vec::new();
        for (index, lane) in trace.lanes() {
            let (begun, once) = (begun(&lane.executions), once(&lane.executions));
            for_each_gap(&lane.executions, |gap| {
                if gap.end > begun && gap.end.since(gap.start) > least {
                    let stall = Stall {
                        call: exec_ref(index, gap.call),
                        start: clocks.common(index, gap.start),
                        end: clocks.common(index, gap.end),
                        due: clocks.common(index, gap.start),
                    };
                    let func = lane.executions.func[gap.call.index()];
                    // Who waits for others is not by itself where it is.
                    let is_work = kinds.get(func.index()) == Some(&CallKind::Work);
                    let is_once = is_work && once.binary_search(&func).is_ok();
                    found.push((stall, is_once.then_some((func, gap.place))));
                }
            });
        }
        let places = found.iter();
        let set_up = SetUp::new(
            trace,
            places.filter_map(|(stall, place)| Some(((*place)?, stall.duration()))),
        );
        let is_set_up = |stall: &Stall, place: Option<OncePlace>| {
            place.is_some_and(|place| set_up.is_usual(place, stall.duration()))
        };
        let stalls = found.into_iter();
        let all: Vec<Stall> = stalls
            .filter(|(stall, place)| !is_set_up(stall, *place))
            .map(|(stall, _)| stall)
            .collect();
        let ends = trace.lanes().map(|(lane, _)| {
            let is_before = |stall: &Stall| stall.lane() <= lane;
            all.partition_point(is_before)
        });
        let from = std::iter::once(0).chain(ends).collect();
        Self { all, from, least }
    }

    pub(super) fn all(&self) -> &[Stall] {
        &self.all
    }

    /// Sets when each stall was due, from its call's messages.
    pub(super) fn settle_due(&mut self, due: impl Fn(&Stall) -> TimeNs) {
        for stall in &mut self.all {
            stall.due = due(stall);
        }
    }

    /// The indices of those of a lane, in order of time.
    pub(super) fn on_lane(&self, lane: LaneIdx) -> std::ops::Range<usize> {
        let at = |lane: usize| self.from.get(lane).copied().unwrap_or(self.all.len());
        at(lane.index())..at(lane.index() + 1)
    }

    /// The indices of those of a lane that have a part between two times.
    pub(super) fn within(
        &self,
        lane: LaneIdx,
        start: TimeNs,
        end: TimeNs,
    ) -> std::ops::Range<usize> {
        let range = self.on_lane(lane);
        let stalls = &self.all[range.clone()];
        let from = stalls.partition_point(|it| it.end <= start);
        let to = stalls.partition_point(|it| it.start < end);
        range.start + from..range.start + to.max(from)
    }
}

/// When a lane is in full swing: its first call without calls in it was entered. Until then the process starts, every
/// one in its own time, and the tracer may have been told afterwards what was on the stack.
fn begun(executions: &Executions) -> TimeNs {
    let mut rows = (0..executions.len()).map(ExecIdx::from_index);
    let leaf = rows.find(|&row| executions.subtree(row).len() == 1);
    leaf.map_or(TimeNs(i64::MAX), |row| executions.entry[row.index()])
}

fn exec_ref(lane: LaneIdx, exec: ExecIdx) -> ExecRef {
    ExecRef { lane, exec }
}
