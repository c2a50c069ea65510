//! The rows of the timeline: which lanes they show, their order, and their names.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, ExecRef, LaneIdx, ProgramId, Property, RankId, ThreadId, Trace};
use thiserror::Error;

use super::SpanIndex;

/// Number of messages that are examined to find the partners of a selection.
const MAX_EVENTS: usize = 5_000;
/// Largest number of partner ranks that are relevant: those with most messages.
const MAX_PARTNERS: usize = 32;

/// A rank of a program.
type Rank = (ProgramId, RankId);

/// The criteria for the order of the rows.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowQuery {
    /// The selected tree or call; its rank comes first, then those it exchanges messages with.
    pub selection: Option<ExecRef>,
    /// Ranks that the user pinned to the top.
    pub pinned: BTreeSet<(ProgramId, RankId)>,
    /// Ranks of the selected trend. They are shown regardless of the filter, among the first.
    pub lifted: BTreeSet<(ProgramId, RankId)>,
    /// Ranks that are shown.
    pub filter: RankFilter,
    /// Order of all other ranks.
    pub sort: RankSort,
    /// Rank of the root of the selected delay. It is shown first, regardless of the filter.
    pub root: Option<(ProgramId, RankId)>,
}

/// The order of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RankSort {
    /// By number.
    #[default]
    Rank,
    /// Most abnormal time first.
    AbnormalTime,
    /// Most messages with the selection first.
    Messages,
}

/// A filter that a user typed: rank numbers and ranges (`0-3, 8`), or a part of the names of rows.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum RankFilter {
    /// All ranks.
    #[default]
    All,
    /// Ranks from the first to the second of each pair, inclusive.
    Ranks(Vec<(u32, u32)>),
    /// Rows whose name contains this text, in lower case.
    Name(String),
}

/// An error in the text of a filter.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RankFilterError {
    /// A range whose end is before its start.
    #[error("the range {0}-{1} ends before it begins; write {1}-{0}")]
    Backwards(u32, u32),
}

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneRow {
    /// Lane.
    pub lane: LaneIdx,
    /// True if its rank is the selection's, exchanges messages with it, is pinned, or is the root of the delay.
    pub is_relevant: bool,
    /// True if its rank is pinned.
    pub is_pinned: bool,
    /// True if it is the first row of its rank. The rank's other threads follow below it.
    pub is_first: bool,
}

/// Names of lanes.
#[derive(Clone, Debug, Default)]
pub struct LaneNames {
    has_programs: bool,
    /// Device and stream of threads that are GPU streams.
    gpus: BTreeMap<(ProgramId, RankId, ThreadId), (String, String)>,
    /// The names of other threads.
    threads: BTreeMap<(ProgramId, RankId, ThreadId), String>,
}

impl RankSort {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Rank, Self::AbnormalTime, Self::Messages];

    /// Returns the name of the order for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rank => "Rank",
            Self::AbnormalTime => "Abnormal time",
            Self::Messages => "Messages with the selection",
        }
    }
}

impl RankFilter {
    /// Parses a typed filter; an empty text means all ranks.
    ///
    /// # Errors
    /// [`RankFilterError`] for numbers that are not a range.
    pub fn parse(text: &str) -> Result<Self, RankFilterError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::All);
        }
        let range = |part: &str| -> Option<(u32, u32)> {
            let number = |text: &str| text.trim().parse().ok();
            match part.split_once('-') {
                Some((first, last)) => Some((number(first)?, number(last)?)),
                None => number(part).map(|rank| (rank, rank)),
            }
        };
        let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
        let Some(ranges) = parts.map(range).collect::<Option<Vec<_>>>() else {
            return Ok(Self::Name(text.to_lowercase()));
        };
        match ranges.iter().find(|(first, last)| first > last) {
            Some(&(first, last)) => Err(RankFilterError::Backwards(first, last)),
            None => Ok(Self::Ranks(ranges)),
        }
    }

    fn keeps(&self, rank: RankId, name: impl FnOnce() -> String) -> bool {
        match self {
            Self::All => true,
            Self::Ranks(ranges) => ranges
                .iter()
                .any(|&(first, last)| (first..=last).contains(&rank.0)),
            Self::Name(part) => name().to_lowercase().contains(part),
        }
    }
}

impl LaneNames {
    /// Reads from the metadata which threads are GPU streams.
    pub fn new(trace: &Trace) -> Self {
        let programs: BTreeSet<_> = trace.lanes.iter().map(|lane| lane.program).collect();
        let mut gpus: BTreeMap<_, (String, String)> = BTreeMap::new();
        let mut threads = BTreeMap::new();
        for entry in &trace.metadata {
            let place = (entry.program, entry.rank, entry.thread);
            if Property::GpuDevice.is_in(entry) {
                gpus.entry(place).or_default().0.clone_from(&entry.value);
            } else if Property::GpuStream.is_in(entry) {
                gpus.entry(place).or_default().1.clone_from(&entry.value);
            } else if Property::ThreadName.is_in(entry) {
                threads.insert(place, entry.value.clone());
            }
        }
        Self {
            has_programs: programs.len() > 1,
            gpus,
            threads,
        }
    }

    /// Returns `rank 7`, with thread or GPU stream, and with the program if there are several.
    pub fn name(&self, trace: &Trace, lane: LaneIdx) -> String {
        let Some(lane) = trace.lanes.get(lane.index()) else {
            return String::new();
        };
        let mut name = format!("rank {}", lane.rank);
        let place = (lane.program, lane.rank, lane.thread);
        match self.gpus.get(&place) {
            Some((device, stream)) => name.push_str(&format!(" GPU {device} stream {stream}")),
            None if lane.thread != ThreadId(0) => {
                name.push_str(&format!(" thread {}", lane.thread));
                if let Some(thread) = self.threads.get(&place) {
                    name.push_str(&format!(" ({thread})"));
                }
            }
            None => {}
        }
        if self.has_programs {
            name.push_str(&format!(" of {}", lane.program));
        }
        name
    }
}

/// Returns all rows: the rank of the selection, ranks it exchanges messages with (`partners`, the result of
/// [`partners_of`]) and pinned ones, then the rest. The lanes of a rank are adjacent. A thread that `is_silent` has no
/// row.
pub fn order_rows(
    (trace, is_silent): (&Trace, impl Fn(LaneIdx) -> bool),
    names: &LaneNames,
    (query, partners): (&RowQuery, &[(ProgramId, RankId, usize)]),
    abnormal: &SpanIndex,
) -> Vec<LaneRow> {
    let rank_of = |lane: LaneIdx| -> Rank { (trace.lane(lane).program, trace.lane(lane).rank) };
    let own = query.selection.map(|exec| rank_of(exec.lane));
    let num_messages: BTreeMap<Rank, usize> = (partners.iter())
        .map(|&(program, rank, number)| ((program, rank), number))
        .collect();
    let mut partners: Vec<_> = num_messages
        .iter()
        .map(|(rank, num)| (Reverse(*num), *rank))
        .collect();
    partners.sort_unstable();
    let partners: BTreeSet<Rank> = partners
        .into_iter()
        .take(MAX_PARTNERS)
        .map(|entry| entry.1)
        .collect();
    let mut abnormal_time: BTreeMap<Rank, DurationNs> = BTreeMap::new();
    if query.sort == RankSort::AbnormalTime {
        for span in abnormal.all() {
            *abnormal_time.entry(rank_of(span.exec.lane)).or_default() += span.duration();
        }
    }
    let weight = |rank: &Rank| match query.sort {
        RankSort::Rank => 0,
        RankSort::AbnormalTime => abnormal_time.get(rank).map_or(0, |time| time.0),
        RankSort::Messages => num_messages.get(rank).map_or(0, |num| *num as i64),
    };
    let group = |rank: &Rank| match rank {
        _ if query.root == Some(*rank) => 0,
        _ if own == Some(*rank) => 1,
        _ if query.lifted.contains(rank) => 2,
        _ if query.pinned.contains(rank) || partners.contains(rank) => 3,
        _ => 4,
    };
    let mut rows: Vec<(u8, Reverse<i64>, Rank, LaneIdx)> = trace
        .lanes()
        .filter(|(lane, held)| held.thread == ThreadId(0) || !is_silent(*lane))
        .filter(|(lane, held)| {
            let rank = (held.program, held.rank);
            query.root == Some(rank)
                || query.lifted.contains(&rank)
                || query.filter.keeps(held.rank, || names.name(trace, *lane))
        })
        .map(|(lane, _)| {
            let rank = rank_of(lane);
            (group(&rank), Reverse(weight(&rank)), rank, lane)
        })
        .collect();
    rows.sort_unstable();
    let mut last = None;
    rows.into_iter()
        .map(|(group, _, rank, lane)| LaneRow {
            lane,
            is_relevant: group < 4,
            is_pinned: query.pinned.contains(&rank),
            is_first: last.replace(rank) != Some(rank),
        })
        .collect()
}

/// Returns the number of messages that an execution and its callees exchange with each other rank, in order of rank.
/// If there are many messages, the numbers are estimated from an even sample.
pub fn partners_of(trace: &Trace, exec: ExecRef) -> Vec<(ProgramId, RankId, usize)> {
    let lane = trace.lane(exec.lane);
    let rows = lane.executions.subtree(exec.exec);
    let (from, to) = (
        lane.executions.entry[exec.exec.index()],
        lane.executions.exit(exec.exec),
    );
    let start = lane.comms.time.partition_point(|&time| time < from);
    let end = start + lane.comms.time[start..].partition_point(|&time| time <= to);
    let stride = (end - start).div_ceil(MAX_EVENTS).max(1);
    let mut num_messages: BTreeMap<Rank, usize> = BTreeMap::new();
    for row in (start..end).step_by(stride) {
        let is_own = lane.comms.exec[row]
            .is_some_and(|owner| rows.contains(&callgrove_model::ExecIdx::from(owner).index()));
        let rank = (lane.program, lane.comms.partner[row]);
        if is_own && rank != (lane.program, lane.rank) {
            *num_messages.entry(rank).or_default() += stride;
        }
    }
    let numbers = num_messages.into_iter();
    numbers
        .map(|((program, rank), number)| (program, rank, number))
        .collect()
}

#[cfg(test)]
mod tests {
    use callgrove_model::CommKind::Send;
    use callgrove_model::{ExecIdx, Metadata};

    use super::super::fixture::{forest, rank};
    use super::super::{Span, SpanIndex};
    use super::*;

    /// Returns six ranks; `a` on rank 2 sends to 4 twice and to 1 once.
    fn six() -> Trace {
        let mut ranks: Vec<_> = (0..6)
            .map(|at| rank(at, "+main@0 -main@100", &[]))
            .collect();
        ranks[2] = rank(
            2,
            "+main@0 +a@10 -a@50 -main@100",
            &[(Send, 4, 20), (Send, 1, 30), (Send, 4, 40), (Send, 5, 60)],
        );
        Trace::clone(forest(ranks, "a").trace())
    }

    fn order(trace: &Trace, query: &RowQuery, abnormal: &SpanIndex) -> Vec<u32> {
        let partners = query.selection.map(|exec| partners_of(trace, exec));
        let rows = order_rows(
            (trace, |_| false),
            &LaneNames::new(trace),
            (query, &partners.unwrap_or_default()),
            abnormal,
        );
        rows.iter().map(|row| trace.lane(row.lane).rank.0).collect()
    }

    fn of_a() -> RowQuery {
        RowQuery {
            selection: Some(ExecRef {
                lane: LaneIdx(2),
                exec: ExecIdx(1),
            }),
            ..RowQuery::default()
        }
    }

    #[test]
    fn all_ranks_are_rows_and_the_relevant_ones_come_first() {
        let trace = six();
        let none = SpanIndex::default();
        assert_eq!(
            order(&trace, &RowQuery::default(), &none),
            [0, 1, 2, 3, 4, 5]
        );
        assert_eq!(order(&trace, &of_a(), &none), [2, 1, 4, 0, 3, 5]);
        let pinned = RowQuery {
            pinned: [(ProgramId(0), RankId(5))].into(),
            ..of_a()
        };
        assert_eq!(order(&trace, &pinned, &none), [2, 1, 4, 5, 0, 3]);
    }

    #[test]
    fn the_root_of_a_delay_is_the_first_row_regardless_of_the_filter() {
        let trace = six();
        let none = SpanIndex::default();
        let query = RowQuery {
            root: Some((ProgramId(0), RankId(3))),
            ..of_a()
        };
        assert_eq!(order(&trace, &query, &none), [3, 2, 1, 4, 0, 5]);
        let filter = RankFilter::parse("1-2").expect("it can be read");
        let query = RowQuery { filter, ..query };
        assert_eq!(order(&trace, &query, &none), [3, 2, 1]);
    }

    #[test]
    fn ranks_are_sorted_by_abnormal_time_and_by_messages() {
        let trace = six();
        let whole = |lane| ExecRef {
            lane: LaneIdx(lane),
            exec: ExecIdx(0),
        };
        let abnormal = SpanIndex::new(vec![Span::of(&trace, whole(3))]);
        let sorted = |sort, query: RowQuery| order(&trace, &RowQuery { sort, ..query }, &abnormal);
        assert_eq!(
            sorted(RankSort::AbnormalTime, RowQuery::default()),
            [3, 0, 1, 2, 4, 5]
        );
        assert_eq!(sorted(RankSort::Messages, of_a()), [2, 4, 1, 0, 3, 5]);
    }

    #[test]
    fn ranks_are_filtered_by_numbers_ranges_and_names() {
        let trace = six();
        let shown = |text: &str| {
            let filter = RankFilter::parse(text).expect("it can be read");
            order(
                &trace,
                &RowQuery {
                    filter,
                    ..RowQuery::default()
                },
                &SpanIndex::default(),
            )
        };
        assert_eq!(shown(" 0-2, 5 "), [0, 1, 2, 5]);
        assert_eq!(shown("4 1"), [1, 4]);
        assert_eq!(shown("RANK 3"), [3]);
        assert_eq!(shown(""), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            RankFilter::parse("5-2"),
            Err(RankFilterError::Backwards(5, 2))
        );
    }

    #[test]
    fn gpu_streams_are_named_by_device_and_stream() {
        let mut trace = six();
        trace.lanes[1].thread = ThreadId(3);
        for (device, stream) in [
            ("CUDA Device", "CUDA Stream"),
            ("ROCM_GPU_ID", "ROCM_QUEUE_ID"),
        ] {
            trace.metadata = [(device, "1"), (stream, "7")]
                .map(|(key, value)| Metadata {
                    program: ProgramId(0),
                    rank: RankId(1),
                    thread: ThreadId(3),
                    key: key.to_owned(),
                    value: value.to_owned(),
                })
                .into();
            let names = LaneNames::new(&trace);
            assert_eq!(names.name(&trace, LaneIdx(1)), "rank 1 GPU 1 stream 7");
            assert_eq!(names.name(&trace, LaneIdx(0)), "rank 0");
        }
    }
}
