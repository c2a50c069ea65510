//! The delays of each lane over time: its own delays, and its waits for those of other lanes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecIdx, ExecRef, LaneIdx, TimeNs, Trace};
use callgrove_segments::Segments;

use super::delay_root::DelayRoot;
use super::delay_root::share;
use super::outcome::{DelayRole, Hop, RootCause, WaitKind};
use super::release::Released;
use super::replay::ChargedWait;

/// Minimum delay of an execution.
const MIN_DELAY: DurationNs = DurationNs::from_us(200);
/// Maximum number of steps that are followed to a root.
const MAX_HOPS: usize = 64;

/// A root, and whether it is the lane's own.
pub(super) type DelayKey = (Option<usize>, bool);

/// A wait for another lane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct DelayWait {
    call: ExecIdx,
    kind: WaitKind,
    peer: LaneIdx,
}

/// A time range in which a lane was delayed. Times are on the common clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LaneDelay {
    start: TimeNs,
    end: TimeNs,
    /// Excess of the delay over the usual.
    amount: DurationNs,
    /// The root, an index into [`super::Causes::roots`]; `None` if nothing explains the delay.
    root: Option<usize>,
    /// True if the root is the lane's own.
    is_own: bool,
    /// The lane it waited for; `None` for its own delay.
    wait: Option<DelayWait>,
}

/// The delays of all lanes.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct LaneDelays {
    /// Delays by lane, in order of start.
    lanes: Vec<Vec<LaneDelay>>,
    /// For each delay, the latest end so far.
    latest: Vec<Vec<TimeNs>>,
}

/// The largest delay of an execution.
pub(super) struct LargestDelay {
    pub(super) role: DelayRole,
    pub(super) root: Option<usize>,
    pub(super) amount: DurationNs,
}

impl LaneDelays {
    /// Converts the result of the replay; `place` maps each of its roots to the index of the root that it is
    /// attributed to.
    pub(super) fn new(
        trace: &Trace,
        segments: &Segments,
        released: &[Vec<Released>],
        roots: &[DelayRoot],
        waits: &[ChargedWait],
        place: &[usize],
    ) -> Self {
        let mut lanes: Vec<Vec<LaneDelay>> = segments.lanes.iter().map(|_| Vec::new()).collect();
        // The delays of a stream are those of its first thread too, which orders the work.
        let home = |lane: LaneIdx| {
            let it = segments.lane(lane);
            let first = || segments.first_thread(trace, it.process);
            it.is_device.then(first).flatten().unwrap_or(lane)
        };
        for (index, root) in roots.iter().enumerate() {
            let end = root.attributed_to.map_or(root, |end| &roots[end.index()]);
            let is_own = home(end.lane) == home(root.lane);
            let delay = LaneDelay {
                start: root.start,
                end: root.end,
                amount: root.amount,
                root: Some(place[index]),
                is_own,
                wait: (!is_own).then_some(DelayWait {
                    call: root.call,
                    kind: WaitKind::LateCompletion,
                    peer: end.lane,
                }),
            };
            for lane in BTreeSet::from([root.lane, home(root.lane)]) {
                lanes[lane.index()].push(delay);
            }
        }
        for wait in waits {
            let operation = segments.operation(wait.operation);
            let lane = wait.operation.lane;
            let Some(by) = released[lane.index()][wait.operation.at()].by else {
                continue;
            };
            let root = wait.root.map(|it| &roots[it.index()]);
            let end = root.map(|it| it.attributed_to.map_or(it, |end| &roots[end.index()]));
            lanes[lane.index()].push(LaneDelay {
                start: operation.start,
                end: operation.end,
                amount: wait.amount,
                root: wait.root.map(|it| place[it.index()]),
                is_own: end.is_some_and(|end| home(end.lane) == lane),
                wait: Some(DelayWait {
                    call: operation.call,
                    kind: by.kind,
                    peer: by.peer,
                }),
            });
        }
        let mut latest = Vec::with_capacity(lanes.len());
        for lane in &mut lanes {
            lane.sort_by_key(|it| (it.start, it.end, it.root));
            let mut last = TimeNs(i64::MIN);
            let ends = lane.iter().map(|it| {
                last = last.max(it.end);
                last
            });
            latest.push(ends.collect());
        }
        Self { lanes, latest }
    }

    /// Returns the delays that overlap a time range of a lane.
    fn within(
        &self,
        lane: LaneIdx,
        time: &Range<TimeNs>,
    ) -> impl DoubleEndedIterator<Item = &LaneDelay> {
        let delays = self.lanes.get(lane.index()).map_or(&[][..], Vec::as_slice);
        let latest = self.latest.get(lane.index()).map_or(&[][..], Vec::as_slice);
        let from = latest.partition_point(|end| *end <= time.start);
        let to = delays.partition_point(|it| it.start < time.end);
        let start = time.start;
        delays[from.min(to)..to]
            .iter()
            .filter(move |it| it.end > start)
    }

    /// Returns the delays of a lane within a time range by root, and whether the root is the lane's own.
    pub(super) fn amounts(
        &self,
        lane: LaneIdx,
        time: &Range<TimeNs>,
    ) -> BTreeMap<DelayKey, DurationNs> {
        let mut amounts: BTreeMap<DelayKey, DurationNs> = BTreeMap::new();
        for it in self.within(lane, time) {
            let overlap = it.end.min(time.end).since(it.start.max(time.start));
            let part = match it.wait {
                Some(_) => it.amount.min(overlap),
                None => share(
                    overlap,
                    it.amount.min(it.end.since(it.start)),
                    it.end.since(it.start),
                ),
            };
            *amounts.entry((it.root, it.is_own)).or_default() += part;
        }
        amounts
    }

    /// Returns the largest delay of a lane within a time range: its own delays are summed, and so are those by
    /// others.
    pub(super) fn largest_delay(&self, lane: LaneIdx, time: &Range<TimeNs>) -> LargestDelay {
        let amounts = self.amounts(lane, time);
        let sum = |of: &dyn Fn(&DelayKey) -> bool| -> DurationNs {
            let chosen = amounts.iter().filter(|it| of(it.0));
            chosen.map(|it| *it.1).sum()
        };
        let own = sum(&|it| it.1);
        let others = sum(&|it| !it.1 && it.0.is_some());
        let unexplained = sum(&|it| it.0.is_none());
        if own.max(others).max(unexplained) < MIN_DELAY {
            return LargestDelay {
                role: DelayRole::OnTime,
                root: None,
                amount: DurationNs::ZERO,
            };
        }
        let (role, is_own) = if own.max(others) < MIN_DELAY {
            (DelayRole::Undecided, false)
        } else if own >= others {
            (DelayRole::Root, true)
        } else {
            (DelayRole::Victim, false)
        };
        let is_wanted =
            |it: &DelayKey| it.0.is_some() == (role != DelayRole::Undecided) && it.1 == is_own;
        let most = amounts
            .iter()
            .filter(|it| is_wanted(it.0))
            .max_by_key(|it| (*it.1, std::cmp::Reverse(it.0.0)));
        LargestDelay {
            role,
            root: most.and_then(|it| it.0.0),
            amount: most
                .map_or(DurationNs::ZERO, |it| *it.1)
                .min(time.end.since(time.start)),
        }
    }

    /// Returns the path from a lane's longest wait for a root within a time range, to that root, which began at
    /// `since`. `local` converts a time on the common clock to a lane's clock.
    pub(super) fn hops(
        &self,
        trace: &Trace,
        lane: LaneIdx,
        time: &Range<TimeNs>,
        (place, root, since): (usize, &RootCause, TimeNs),
        local: impl Fn(LaneIdx, TimeNs) -> TimeNs,
    ) -> Vec<Hop> {
        let mut hops: Vec<Hop> = Vec::new();
        let is_for_root = |it: &&LaneDelay| it.root == Some(place) && it.wait.is_some();
        let waits = self.within(lane, time).filter(is_for_root);
        let longest = waits.max_by_key(|it| (it.amount, std::cmp::Reverse(it.start)));
        let mut at = longest.map(|it| (lane, it));
        while let Some((on, delay)) = at.filter(|_| hops.len() < MAX_HOPS) {
            let Some(wait) = delay.wait else { break };
            // The delay of the peer was over when the release came.
            let until = since.min(delay.start)..delay.end;
            let mut before = self.within(wait.peer, &until).filter(is_for_root);
            let next = before
                .rfind(|it| it.end <= delay.end && it.start < delay.start + delay.amount)
                .filter(|it| {
                    wait.peer != root.lane && (it.start, it.end) != (delay.start, delay.end)
                });
            let (start, end) = (local(on, delay.start), local(on, delay.end));
            let handed_on = delay.amount.min(end.since(start));
            let long_term = next.map_or(DurationNs::ZERO, |it| it.amount.min(handed_on));
            let next_call = next.and_then(|it| it.wait).map(|it| ExecRef {
                lane: wait.peer,
                exec: it.call,
            });
            hops.push(Hop {
                call: ExecRef {
                    lane: on,
                    exec: wait.call,
                },
                rank: trace.lane(on).rank,
                kind: wait.kind,
                peer: wait.peer,
                peer_rank: trace.lane(wait.peer).rank,
                peer_call: next_call.or_else(|| (wait.peer == root.lane).then_some(root.call)),
                start,
                end,
                handed_on,
                short_term: handed_on - long_term,
                long_term,
            });
            let is_known = |lane: LaneIdx| hops.iter().any(|hop| hop.call.lane == lane);
            at = next
                .filter(|_| !is_known(wait.peer))
                .map(|it| (wait.peer, it));
        }
        hops
    }
}
