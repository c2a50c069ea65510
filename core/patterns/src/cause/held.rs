//! What held up each lane, and when: its own delays, and its waits for those of others.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecIdx, ExecRef, LaneIdx, TimeNs, Trace};

use super::delay::{DelayRole, Hop, RootCause};
use super::delay_root::DelayRoot;
use super::delay_root::share;
use super::release::Released;
use super::replay::ChargedWait;
use super::segments::Segments;
use super::wait::WaitKind;

/// Less than this is no delay of an execution.
const LEAST: DurationNs = DurationNs::from_us(200);
/// Largest number of steps that are followed to a root.
const MOST_HOPS: usize = 64;

/// A root, and whether it is the lane's own.
type HeldKey = (Option<usize>, bool);

/// A wait for another lane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct HeldWait {
    call: ExecIdx,
    kind: WaitKind,
    peer: LaneIdx,
}

/// One time in which a lane was held up. Times are on the common clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    start: TimeNs,
    end: TimeNs,
    /// How much longer it was held up than usual.
    amount: DurationNs,
    /// The root, a place among [`super::Causes::roots`]; `None` if nothing explains it.
    root: Option<usize>,
    /// Whether the root is the lane's own.
    is_own: bool,
    /// Whom it waited for; `None` for its own delay.
    wait: Option<HeldWait>,
}

/// What held up all lanes.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct HeldLanes {
    /// By lane, in order of start.
    lanes: Vec<Vec<Held>>,
    /// For each, the latest end so far.
    latest: Vec<Vec<TimeNs>>,
}

/// How an execution was held up most.
pub(super) struct HeldBy {
    pub(super) role: DelayRole,
    pub(super) root: Option<usize>,
    pub(super) amount: DurationNs,
}

impl HeldLanes {
    /// From what the replay found; `place` gives each of its roots the place of the one that it is laid to.
    pub(super) fn new(
        trace: &Trace,
        segments: &Segments,
        released: &[Vec<Released>],
        roots: &[DelayRoot],
        waits: &[ChargedWait],
        place: &[usize],
    ) -> Self {
        let mut lanes: Vec<Vec<Held>> = segments.lanes.iter().map(|_| Vec::new()).collect();
        // What a stream does its host is asked for.
        let home = |lane: LaneIdx| {
            let it = segments.lane(lane);
            let first = || segments.first_thread(trace, it.process);
            it.is_device.then(first).flatten().unwrap_or(lane)
        };
        for (index, root) in roots.iter().enumerate() {
            let end = root.laid_to.map_or(root, |end| &roots[end.index()]);
            let is_own = home(end.lane) == home(root.lane);
            let held = Held {
                start: root.start,
                end: root.end,
                amount: root.amount,
                root: Some(place[index]),
                is_own,
                wait: (!is_own).then_some(HeldWait {
                    call: root.call,
                    kind: WaitKind::LateCompletion,
                    peer: end.lane,
                }),
            };
            lanes[home(root.lane).index()].push(held);
        }
        for wait in waits {
            let operation = segments.operation(wait.operation);
            let lane = wait.operation.lane;
            let Some(by) = released[lane.index()][wait.operation.at].by else {
                continue;
            };
            let root = wait.root.map(|it| &roots[it.index()]);
            let end = root.map(|it| it.laid_to.map_or(it, |end| &roots[end.index()]));
            lanes[lane.index()].push(Held {
                start: operation.start,
                end: operation.end,
                amount: wait.amount,
                root: wait.root.map(|it| place[it.index()]),
                is_own: end.is_some_and(|end| home(end.lane) == lane),
                wait: Some(HeldWait {
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

    /// What overlaps a time of a lane.
    fn within(
        &self,
        lane: LaneIdx,
        time: &Range<TimeNs>,
    ) -> impl DoubleEndedIterator<Item = &Held> {
        let held = self.lanes.get(lane.index()).map_or(&[][..], Vec::as_slice);
        let latest = self.latest.get(lane.index()).map_or(&[][..], Vec::as_slice);
        let from = latest.partition_point(|end| *end <= time.start);
        let to = held.partition_point(|it| it.start < time.end);
        let start = time.start;
        held[from.min(to)..to]
            .iter()
            .filter(move |it| it.end > start)
    }

    /// What held up a lane most within a time: what it did itself counts together, as does what others did.
    pub(super) fn by(&self, lane: LaneIdx, time: &Range<TimeNs>) -> HeldBy {
        let mut amounts: BTreeMap<HeldKey, DurationNs> = BTreeMap::new();
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
        let sum = |of: &dyn Fn(&HeldKey) -> bool| -> DurationNs {
            let chosen = amounts.iter().filter(|it| of(it.0));
            chosen.map(|it| *it.1).sum()
        };
        let own = sum(&|it| it.1);
        let others = sum(&|it| !it.1 && it.0.is_some());
        let unexplained = sum(&|it| it.0.is_none());
        if own.max(others).max(unexplained) < LEAST {
            return HeldBy {
                role: DelayRole::OnTime,
                root: None,
                amount: DurationNs::ZERO,
            };
        }
        let (role, is_own) = if own.max(others) < LEAST {
            (DelayRole::Undecided, false)
        } else if own >= others {
            (DelayRole::Root, true)
        } else {
            (DelayRole::Victim, false)
        };
        let is_wanted =
            |it: &HeldKey| it.0.is_some() == (role != DelayRole::Undecided) && it.1 == is_own;
        let most = amounts
            .iter()
            .filter(|it| is_wanted(it.0))
            .max_by_key(|it| (*it.1, std::cmp::Reverse(it.0.0)));
        HeldBy {
            role,
            root: most.and_then(|it| it.0.0),
            amount: most
                .map_or(DurationNs::ZERO, |it| *it.1)
                .min(time.end.since(time.start)),
        }
    }

    /// The way from a lane's longest wait for a root within a time, to that root, which began at `since`; `local` turns the
    /// common clock into a lane's.
    pub(super) fn hops(
        &self,
        trace: &Trace,
        lane: LaneIdx,
        time: &Range<TimeNs>,
        (place, root, since): (usize, &RootCause, TimeNs),
        local: impl Fn(LaneIdx, TimeNs) -> TimeNs,
    ) -> Vec<Hop> {
        let mut hops: Vec<Hop> = Vec::new();
        let is_for_root = |it: &&Held| it.root == Some(place) && it.wait.is_some();
        let waits = self.within(lane, time).filter(is_for_root);
        let longest = waits.max_by_key(|it| (it.amount, std::cmp::Reverse(it.start)));
        let mut at = longest.map(|it| (lane, it));
        while let Some((on, held)) = at.filter(|_| hops.len() < MOST_HOPS) {
            let Some(wait) = held.wait else { break };
            // What made the peer late was over when it came.
            let until = since.min(held.start)..held.end;
            let mut before = self.within(wait.peer, &until).filter(is_for_root);
            let next = before
                .rfind(|it| it.end <= held.end && it.start < held.start + held.amount)
                .filter(|it| {
                    wait.peer != root.lane && (it.start, it.end) != (held.start, held.end)
                });
            let (start, end) = (local(on, held.start), local(on, held.end));
            let handed_on = held.amount.min(end.since(start));
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
