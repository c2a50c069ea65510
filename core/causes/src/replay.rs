//! The replay: every lane with two clocks, the real one and one without the excesses.
//!
//! A lane's lag is the difference of the two, kept by the delays that it consists of. An operation hands lag on: a lane
//! that waits takes over the lag of its peer, less the slack; a lane that does not wait keeps its own. A wait is
//! attributed to the delays by which the peer was further behind than all else that the operation depends on. This
//! combines both replays of Böhme et al. (ICPP 2010; TOPC 2016), with the usual duration instead of the peer's, and the
//! slack by which idle waves decay (Afzal, Hager, Wellein, IEEE Cluster 2019).

use std::cmp::Reverse;
use std::sync::Arc;

use callgrove_model::{CommKind, DurationNs, ExecIdx, LaneIdx, TimeNs};
use callgrove_segments::{
    CallKind, LaneSegments, Meetings, Operation, OperationKind, OperationRef, Segments,
};

use super::delay_root::{DelayRoot, RootIdx};
use super::delay_root::{
    Lag, LagId, LagStore, add, keep_alive, keep_overlapping, share, subtract_slack, total,
};
use super::operation_excesses::OperationExcesses;
use super::release::{Dependences, Partners, PeerState, Release, Released};
use super::usual::{ExcessSource, MIN_WAIT, PlaceExcess};
use super::work_excesses::{LaneExcess, work_excesses};

/// Divisor of a wait: a root lasts until the end of a wait of which it caused more than a fifth.
const SHARE_OF_WAIT: i64 = 5;
/// Divisor of the root's amount: that part must also be more than a tenth of it.
const SHARE_OF_ROOT: i64 = 10;
/// Divisor of a silence: a wait of less than a hundredth of it may be two ranks that fell silent together.
const SHORT: i64 = 100;
/// Maximum number of operations before a call among which the sends that it completes are searched.
const MAX_PENDING: usize = 64;

/// A wait that a delay caused or prolonged.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChargedWait {
    pub(super) operation: OperationRef,
    /// The part of the wait that would not have occurred.
    pub(super) amount: DurationNs,
    /// The delay that caused most of it; `None` if the wait is unusual, but nothing explains it.
    pub(super) root: Option<RootIdx>,
}

/// The result of the replay.
pub(super) struct Replayed {
    pub(super) roots: Vec<DelayRoot>,
    /// The excesses of own work by lane, in order of time.
    pub(super) work: Vec<Vec<LaneExcess>>,
    pub(super) waits: Vec<ChargedWait>,
    /// Waits that no delay explains: they are by design.
    pub(super) by_design: Vec<OperationRef>,
}

/// Follows every delay of a run. Cost: O(n log n) in events.
pub(super) fn replay(
    segments: &Segments,
    partners: &Partners<'_>,
    dependences: &Dependences<'_>,
    released: &[Vec<Released>],
    source: ExcessSource<'_>,
) -> Replayed {
    let mut roots = Vec::new();
    let work = work_excesses(segments, source, &mut roots);
    let lanes = segments.lanes.iter();
    let unknown = |it: &LaneSegments| vec![LagId::UNKNOWN; it.operations.len()];
    let after: Vec<Vec<LagId>> = lanes.map(unknown).collect();
    let excesses = |part: fn(&Released, &Operation) -> DurationNs| {
        let all = source.of_operations(segments, released, part);
        OperationExcesses::new(all, segments.lanes.len())
    };
    let mut replay = Replay {
        segments,
        partners,
        meetings: dependences.meetings(),
        dependences,
        without_excesses: Vec::new(),
        released,
        rests: excesses(Released::rest),
        unusual: excesses(Released::wait),
        lags: LagStore::new(),
        is_excerpt: source.is_excerpt(),
        has_no_messages: partners.has_no_messages(),
        all_lanes: (0..segments.lanes.len()).map(LaneIdx::from_index).collect(),
        unreported: vec![Vec::new(); segments.lanes.len()],
        before: after.clone(),
        after,
        found: Replayed {
            roots,
            work,
            waits: Vec::new(),
            by_design: Vec::new(),
        },
    };
    for &it in dependences.order() {
        replay.pass(it);
    }
    replay.found
}

struct Replay<'a> {
    segments: &'a Segments,
    partners: &'a Partners<'a>,
    meetings: &'a Meetings,
    dependences: &'a Dependences<'a>,
    /// For each meeting, the number of members that had entered, and the latest of their entries without the excesses;
    /// as far as they were asked for.
    without_excesses: Vec<(usize, Option<TimeNs>)>,
    released: &'a [Vec<Released>],
    rests: OperationExcesses,
    unusual: OperationExcesses,
    lags: LagStore,
    is_excerpt: bool,
    has_no_messages: bool,
    /// All lanes, for operations that may wait for any of them.
    all_lanes: Arc<[LaneIdx]>,
    /// The roots of each lane that an excerpt does not show, in the order in which they were found.
    unreported: Vec<Vec<RootIdx>>,
    /// The lag of each operation at its entry, by lane and operation; `after` is the lag at its exit.
    before: Vec<Vec<LagId>>,
    after: Vec<Vec<LagId>>,
    found: Replayed,
}

impl Replay<'_> {
    fn pass(&mut self, it: OperationRef) {
        let operation = self.segments.operation(it);
        let released = self.released[it.lane.index()][it.at()];
        let entered = self.entered(it);
        let mut lag = self.lags.get(entered).to_vec();
        let mut like = entered;
        if let Some(by) = released.by {
            like = self.lag_of(&by);
            let mut theirs = self.lags.get(like).to_vec();
            let wait = released.wait(operation);
            if self.is_excerpt {
                let is_wait = wait > DurationNs::ZERO;
                keep_overlapping(&mut lag, operation.start, is_wait, &self.found.roots);
                keep_overlapping(&mut theirs, operation.start, is_wait, &self.found.roots);
            } else {
                keep_alive(&mut lag, released.at(operation), &self.found.roots);
                keep_alive(&mut theirs, released.at(operation), &self.found.roots);
            }
            let (own, other) = (total(&lag), total(&theirs));
            let virtual_entry = operation.start + DurationNs(-own.0);
            let virtual_release = by.time + DurationNs(-other.0);
            let mut virtual_end = virtual_entry.max(virtual_release);
            if own.max(other) > DurationNs::ZERO && !self.is_excerpt {
                virtual_end = virtual_end.max(self.other_end(it, operation).unwrap_or(virtual_end));
            }
            if self.is_excerpt && self.is_unexplained(it, &by, wait, other - own) {
                self.add_unreported(operation, released, &by, &mut theirs);
            }
            if wait > DurationNs::ZERO {
                let further = if self.is_excerpt {
                    total(&theirs) - own
                } else {
                    by.time.since(virtual_end) - own
                };
                self.charge(it, operation, (&lag, &theirs), (wait, further));
                lag = theirs;
                subtract_slack(&mut lag, virtual_end.since(virtual_release));
            } else {
                let left = operation.start.since(virtual_end);
                subtract_slack(&mut lag, own - left.max(DurationNs::ZERO));
                like = entered;
            }
        } else if !lag.is_empty() && !self.is_excerpt {
            keep_alive(&mut lag, operation.start, &self.found.roots);
            let own = total(&lag);
            if let Some(virtual_end) = self.other_end(it, operation) {
                let left = operation.start.since(virtual_end);
                subtract_slack(&mut lag, own - left.clamp(DurationNs::ZERO, own));
            }
        }
        if let Some(excess) = self.rests.of(it) {
            self.begin_in_library(it, operation, released, excess, &mut lag);
        }
        self.after[it.lane.index()][it.at()] = self.lags.keep(&lag, like);
    }

    /// Returns whether a stalled call waited for a message, and half of that wait is neither a known delay of its
    /// sender or receiver nor time that the peer waited itself.
    fn is_unexplained(
        &mut self,
        it: OperationRef,
        by: &Release,
        wait: DurationNs,
        further: DurationNs,
    ) -> bool {
        let came_late = by.row().is_some() && matches!(by.state(), PeerState::Before(_));
        let is_long = wait > MIN_WAIT && further.0.saturating_mul(2) < wait.0;
        let peer = self.segments.lane(by.peer);
        came_late
            && is_long
            && self.unusual.of(it).is_some()
            && peer.in_operations(by.time + DurationNs(-wait.0)..by.time) < DurationNs(wait.0 / 2)
    }

    /// Adds to a peer's lag a delay by own work that an excerpt does not show, from the start of the wait to its
    /// release. Overlapping waits for one peer are for the same work.
    fn add_unreported(
        &mut self,
        operation: &Operation,
        released: Released,
        by: &Release,
        theirs: &mut Lag,
    ) {
        let (start, end) = (operation.start, released.at(operation));
        let of_lane = &mut self.unreported[by.peer.index()];
        let roots = &mut self.found.roots;
        let overlaps = |it: &&RootIdx| {
            let root = &roots[it.index()];
            root.start < end && start < root.end
        };
        let last = of_lane.iter().rev().take(MAX_PENDING).find(overlaps);
        let index = last.copied().unwrap_or_else(|| {
            let gaps = &self.segments.lane(by.peer).gaps;
            let before = gaps.partition_point(|gap| gap.start <= start);
            let gap = before.checked_sub(1).map(|at| &gaps[at]);
            let call = gap.map_or(ExecIdx(0), |gap| gap.call);
            roots.push(DelayRoot::unreported(by.peer, call, start, end));
            let index = RootIdx::from_index(roots.len() - 1);
            of_lane.push(index);
            index
        });
        let root = &mut roots[index.index()];
        root.cover(start, end);
        add(theirs, index, root.amount, roots);
    }

    /// Returns when an operation would be released without the excesses, by what else it depends on than its release: the last
    /// one to enter a collective would have waited for the second-last. `None` if it depends on nothing else.
    fn other_end(&mut self, it: OperationRef, operation: &Operation) -> Option<TimeNs> {
        let at = self.released[it.lane.index()][it.at()].at(operation);
        let dependences = self.dependences;
        let of_meeting = dependences.entered(it).and_then(|(number, entered)| {
            if number >= self.without_excesses.len() {
                self.without_excesses.resize(number + 1, (0, None));
            }
            if self.without_excesses[number].0 != entered.len() {
                let entries = entered.iter().map(|&(time, member)| {
                    let lag = self.entered(member);
                    time + DurationNs(-self.alive(lag, at).0)
                });
                self.without_excesses[number] = (entered.len(), entries.max());
            }
            self.without_excesses[number].1
        });
        let others = dependences.others(it).iter().map(|cause| {
            let lag = self.lag_of(cause);
            cause.time + DurationNs(-self.alive(lag, at).0)
        });
        others.max().max(of_meeting)
    }

    /// Returns the sum of the delays of a lag that can make others wait at a time.
    fn alive(&self, lag: LagId, at: TimeNs) -> DurationNs {
        let mut lag = self.lags.get(lag).to_vec();
        keep_alive(&mut lag, at, &self.found.roots);
        total(&lag)
    }

    /// Attributes a wait to the delays by which the peer was further behind: `further` beyond what else would have
    /// released it.
    fn charge(
        &mut self,
        it: OperationRef,
        operation: &Operation,
        (own, theirs): (&Lag, &Lag),
        (wait, further): (DurationNs, DurationNs),
    ) {
        if operation.kind == OperationKind::Idle {
            return;
        }
        let amount = wait.min(further);
        if amount <= MIN_WAIT {
            if wait > MIN_WAIT {
                if let Some(unusual) = self.unusual.of(it) {
                    self.found.waits.push(ChargedWait {
                        operation: it,
                        amount: unusual.amount,
                        root: None,
                    });
                }
                self.found.by_design.push(it);
            }
            return;
        }
        let more = theirs.iter().filter_map(|part| {
            let at = own.binary_search_by_key(&part.root, |it| it.root);
            let known = at.map_or(DurationNs::ZERO, |at| own[at].amount);
            let more = part.amount - known;
            (more > DurationNs(1_000)).then_some((part.root, more))
        });
        let more: Vec<(RootIdx, DurationNs)> = more.collect();
        let whole: DurationNs = more.iter().map(|it| it.1).sum();
        let largest = more.iter().max_by_key(|it| (it.1, Reverse(it.0)));
        let Some(&(largest, _)) = largest else {
            return;
        };
        let process = self.segments.lane(it.lane).process;
        // The wait for another rank counts once, on the thread that communicates.
        let is_counted = match operation.kind {
            OperationKind::Thread(peer) => !self.segments.lane(peer).is_device,
            _ => false,
        };
        for (root, part) in more {
            let part = if whole > amount {
                share(part, amount, whole)
            } else {
                part
            };
            let root = &mut self.found.roots[root.index()];
            if !is_counted {
                root.cost += part;
                *root.victims.entry(process).or_default() += part;
            }
            let is_much = part.0.saturating_mul(SHARE_OF_WAIT) > amount.0
                && part.0.saturating_mul(SHARE_OF_ROOT) > root.amount.0;
            if is_much {
                root.last_wait_end = root.last_wait_end.max(operation.end);
            }
        }
        self.found.waits.push(ChargedWait {
            operation: it,
            amount,
            root: Some(largest),
        });
    }

    /// Adds a root in the library if the operation took longer than usual after its release; it is provisional.
    fn begin_in_library(
        &mut self,
        it: OperationRef,
        operation: &Operation,
        released: Released,
        excess: PlaceExcess,
        lag: &mut Lag,
    ) {
        let mut root = DelayRoot::new(
            it.lane,
            operation.call,
            released.at(operation),
            operation.end,
        );
        root.extend(
            operation.path,
            operation.call,
            operation.end,
            excess.usual,
            excess.amount,
        );
        root.operation = Some(it);
        let is_met = self.meetings.of(it).is_some();
        // An excerpt has only the members of a meeting that stalled in it.
        let may_be_any = match operation.kind {
            OperationKind::Call(CallKind::PointToPoint) if !is_met => {
                self.has_no_messages || self.is_excerpt
            }
            OperationKind::Call(CallKind::ThreadSync | CallKind::DeviceSync)
            | OperationKind::Idle
            | OperationKind::Thread(_) => false,
            OperationKind::Call(_) => self.is_excerpt,
        };
        let is_sure = may_be_any && (self.has_no_messages || is_met);
        let peers = if is_sure {
            Vec::new()
        } else {
            self.peers(it, operation)
        };
        root.is_for_any = may_be_any && peers.is_empty();
        root.is_unmatched = peers.is_empty() && self.can_wait_unmatched(it, operation);
        root.peers = if root.is_for_any {
            Arc::clone(&self.all_lanes)
        } else {
            peers.into()
        };
        root.silent_from = operation.silence.start;
        let silence = operation.end.since(root.silent_from);
        let waited = released
            .at(operation)
            .since(root.silent_from)
            .max(DurationNs::ZERO);
        let is_short = waited.0.saturating_mul(SHORT) < silence.0;
        root.due = root.silent_from + DurationNs(if is_short { waited.0 / 2 } else { waited.0 });
        let index = RootIdx::from_index(self.found.roots.len());
        self.found.roots.push(root);
        add(lag, index, excess.amount, &self.found.roots);
    }

    /// Returns whether an operation waits for other ranks by messages that the trace does not have, or in a collective
    /// of ranks that are not in the trace.
    fn can_wait_unmatched(&self, it: OperationRef, operation: &Operation) -> bool {
        let OperationKind::Call(kind) = operation.kind else {
            return false;
        };
        let is_alone = self.segments.processes.len() == 1;
        let is_unmatched = kind == CallKind::PointToPoint || (is_alone && kind.is_collective());
        is_unmatched && self.meetings.of(it).is_none()
    }

    /// Returns the lanes that an operation can wait for: of its messages, its meeting, or the sends it completes.
    fn peers(&self, it: OperationRef, operation: &Operation) -> Vec<LaneIdx> {
        let lane_of = |row: usize| self.partners.lane(self.segments, it.lane, row);
        let mut peers: Vec<LaneIdx> = operation.rows().filter_map(lane_of).collect();
        if let Some(meeting) = self.meetings.of(it) {
            let members = meeting.operations.iter().map(|it| it.lane);
            peers.extend(members.filter(|lane| *lane != it.lane));
        } else if operation.rows().is_empty() {
            let before = &self.segments.lane(it.lane).operations[..it.at()];
            let since = before.iter().rev().take(MAX_PENDING);
            for other in since.take_while(|other| other.path != operation.path) {
                let sends = self.partners.rows(it.lane, other, CommKind::Send);
                peers.extend(sends.filter_map(lane_of));
            }
        }
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Returns the lag of the peer.
    fn lag_of(&mut self, by: &Release) -> LagId {
        match by.state() {
            PeerState::Before(peer) => self.entered(peer),
            PeerState::After(peer) => match self.after[peer.lane.index()][peer.at()] {
                LagId::UNKNOWN => self.entered(peer),
                known => known,
            },
            PeerState::Now => {
                let operations = &self.segments.lane(by.peer).operations;
                let ended = operations.partition_point(|it| it.end <= by.time);
                self.with_work(by.peer, ended, Some(by.time))
            }
        }
    }

    /// Returns the lag with which an operation was entered.
    fn entered(&mut self, it: OperationRef) -> LagId {
        let known = self.before[it.lane.index()][it.at()];
        if known != LagId::UNKNOWN {
            return known;
        }
        let lag = self.with_work(it.lane, it.at(), None);
        self.before[it.lane.index()][it.at()] = lag;
        lag
    }

    /// Returns the lag of a lane after its first operations and the own work after them, up to a time.
    fn with_work(&mut self, lane: LaneIdx, num_operations: usize, until: Option<TimeNs>) -> LagId {
        let last = num_operations.checked_sub(1);
        let known = last.map(|at| self.after[lane.index()][at]);
        let known = known.filter(|it| *it != LagId::UNKNOWN);
        let base = known.unwrap_or(LagId::NONE);
        let work = &self.found.work[lane.index()];
        let from = work.partition_point(|it| it.operations_before < num_operations);
        let here = work[from..].iter();
        let here = here.take_while(|it| it.operations_before == num_operations);
        let mut here = here
            .filter(|it| until.is_none_or(|until| it.end <= until))
            .peekable();
        if here.peek().is_none() {
            return base;
        }
        let mut lag = self.lags.get(base).to_vec();
        for it in here {
            add(&mut lag, it.root, it.amount, &self.found.roots);
        }
        self.lags.keep(&lag, base)
    }
}
