//! Questions about the patterns of a run.

use callgrove_model::{DurationNs, LaneIdx, TimeNs};
use callgrove_patterns::{Imbalance, Occurrence, Pattern, PatternId};
use serde::{Deserialize, Serialize};

use super::query::{
    AskCalls, CallsRefusal, CallsReply, LocalCalls, check_number, check_tile, check_time,
};
use crate::patterns::{
    CurveAxis, OutlineLine, PatternCurve, PatternReference, RunPatterns, Unfolding,
};
use crate::timeline::{Span, Tile, merge_spans};

/// Largest number of columns, more than a screen has.
const MAX_COLUMNS: usize = 1 << 15;
/// Largest number of rows, more than a visible list has.
const MAX_ROWS: usize = 1_000;
/// Largest number of lines that are unfolded one by one.
const MAX_EXCEPTIONS: usize = 10_000;

/// Counts and limits of all listed patterns for q and s, in the order of [`crate::PatternList::patterns`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct JudgedBy(pub PatternReference);

/// Counts and limits of a pattern for q and s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct JudgedPattern {
    /// d: the usual duration.
    pub usual: DurationNs,
    /// s × d: longer occurrences are anomalous.
    pub limit: DurationNs,
    /// Number of occurrences that are usual, undecided and anomalous.
    pub counts: [usize; 3],
    /// Time of the anomalous occurrences beyond d.
    pub excess: DurationNs,
}

/// The curve of a pattern's durations for drawing: the duration in the middle of each column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CurveOf {
    /// Pattern.
    pub pattern: PatternId,
    /// Number of columns.
    pub num_columns: usize,
}

/// Rows of the list of a pattern's anomalous occurrences; fewer at the end of the list.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct AnomalousOf {
    /// Pattern.
    pub pattern: PatternId,
    /// The reference of the pattern.
    pub reference: PatternReference,
    /// Order of the list.
    pub order: OccurrenceOrder,
    /// True for descending order.
    pub is_descending: bool,
    /// Index of the first row.
    pub from: usize,
    /// Number of rows.
    pub num: usize,
}

/// Sort key of a list of occurrences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum OccurrenceOrder {
    /// Lane, then time.
    Lane,
    /// Time.
    Time,
    /// Duration.
    Duration,
}

/// An occurrence in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedOccurrence {
    /// The occurrence.
    pub occurrence: Occurrence,
    /// Iteration of the program that it began in, from 0; `None` outside the loop.
    pub iteration: Option<usize>,
}

/// The occurrences of a pattern on a lane that last longer than a limit, those as one that are nearer to each other
/// than the smallest bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OccurrencesIn {
    /// Pattern.
    pub pattern: PatternId,
    /// Duration that they exceed.
    pub limit: DurationNs,
    /// Lane.
    pub lane: LaneIdx,
    /// Time range and resolution.
    pub tile: Tile,
}

/// The content of a pattern, line by line ([`RunPatterns::outline`]).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutlineOf {
    /// Pattern.
    pub pattern: PatternId,
    /// The unfolded lines.
    pub unfolding: Unfolding,
}

/// The iteration of a lane at a time, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IterationAt {
    /// Lane.
    pub lane: LaneIdx,
    /// Time.
    pub time: TimeNs,
}

/// The imbalance of the iterations for drawing: the most uneven iteration of each column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnevenOf {
    /// Largest number of columns.
    pub num_columns: usize,
}

/// The most uneven iteration of a column.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnevenIteration {
    /// Its imbalance.
    pub imbalance: Imbalance,
    /// Its start on the first lane.
    pub from: TimeNs,
    /// Its end on the last lane.
    pub to: TimeNs,
}

/// Returns the patterns, if they have been computed.
fn known(calls: &LocalCalls) -> Result<&RunPatterns, CallsRefusal> {
    calls
        .patterns()
        .ok_or(CallsRefusal::NotComputed("patterns"))
}

fn pattern_of(patterns: &RunPatterns, id: PatternId) -> Result<&Pattern, CallsRefusal> {
    patterns.get(id).ok_or(CallsRefusal::NoPattern(id))
}

fn curve_of(patterns: &RunPatterns, id: PatternId) -> Result<&PatternCurve, CallsRefusal> {
    patterns.curve(id).ok_or(CallsRefusal::NoPattern(id))
}

impl JudgedPattern {
    fn new(curve: &PatternCurve, reference: PatternReference) -> Self {
        Self {
            usual: curve.usual(reference),
            limit: curve.limit(reference),
            counts: curve.counts(reference),
            excess: curve.excess(reference),
        }
    }
}

impl AskCalls for JudgedBy {
    type Answer = Vec<JudgedPattern>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<JudgedPattern>>, CallsRefusal> {
        let patterns = known(calls)?;
        let judged = patterns.list().patterns.iter().map(|listed| {
            let curve = curve_of(patterns, listed.id)?;
            Ok(JudgedPattern::new(curve, self.0))
        });
        Ok(CallsReply::Done(judged.collect::<Result<_, _>>()?))
    }

    fn answer_bytes(judged: &Vec<JudgedPattern>) -> usize {
        size_of_val(judged.as_slice())
    }
}

impl AskCalls for CurveOf {
    type Answer = Vec<DurationNs>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<DurationNs>>, CallsRefusal> {
        check_number(self.num_columns <= MAX_COLUMNS, "columns")?;
        let sorted = curve_of(known(calls)?, self.pattern)?.sorted();
        let axis = CurveAxis { num: sorted.len() };
        let column = |column: usize| sorted.get(axis.rank_in(column, self.num_columns)).copied();
        let columns = (0..self.num_columns).filter_map(column);
        Ok(CallsReply::Done(columns.collect()))
    }

    fn answer_bytes(columns: &Vec<DurationNs>) -> usize {
        size_of_val(columns.as_slice())
    }
}

impl AskCalls for AnomalousOf {
    type Answer = Vec<ListedOccurrence>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<ListedOccurrence>>, CallsRefusal> {
        check_number(self.num <= MAX_ROWS, "rows")?;
        let patterns = known(calls)?;
        let pattern = pattern_of(patterns, self.pattern)?;
        let curve = curve_of(patterns, self.pattern)?;
        let at = |place: &u32| pattern.occurrences.get(usize::try_from(*place).ok()?);
        let by_duration = curve.anomalous(self.reference);
        let mut sorted = Vec::new();
        if self.order != OccurrenceOrder::Duration {
            sorted.extend_from_slice(by_duration);
            // Occurrences are stored in order of lane, then time.
            sorted.sort_unstable();
        }
        if self.order == OccurrenceOrder::Time {
            sorted.sort_by_key(|place| at(place).map(|it| it.start));
        }
        let places = match self.order {
            OccurrenceOrder::Duration => by_duration,
            OccurrenceOrder::Lane | OccurrenceOrder::Time => &sorted,
        };
        let row = |row: usize| {
            let place = if self.is_descending {
                places.len().checked_sub(row + 1)?
            } else {
                row
            };
            let occurrence = *at(places.get(place)?)?;
            Some(ListedOccurrence {
                iteration: patterns.iteration_at(occurrence.lane, occurrence.start),
                occurrence,
            })
        };
        let rows = self.from.min(places.len())..self.from.saturating_add(self.num);
        Ok(CallsReply::Done(rows.map_while(row).collect()))
    }

    fn answer_bytes(rows: &Vec<ListedOccurrence>) -> usize {
        size_of_val(rows.as_slice())
    }
}

impl AskCalls for OccurrencesIn {
    type Answer = Vec<Span>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<Span>>, CallsRefusal> {
        calls.check_lane(self.lane)?;
        check_tile(self.tile)?;
        let patterns = known(calls)?;
        let place = (self.lane, self.tile.from, self.tile.to);
        let long = patterns
            .longer_than(self.pattern, place, self.limit)
            .ok_or(CallsRefusal::NoPattern(self.pattern))?;
        let merged = merge_spans(long, DurationNs(self.tile.min_bar_ns));
        let spans = merged.into_iter().map(|merged| Span {
            from: merged.from,
            to: merged.to,
            ..merged.longest
        });
        Ok(CallsReply::Done(spans.collect()))
    }

    fn answer_bytes(spans: &Vec<Span>) -> usize {
        size_of_val(spans.as_slice())
    }
}

impl AskCalls for OutlineOf {
    type Answer = Vec<OutlineLine>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<OutlineLine>>, CallsRefusal> {
        check_number(self.unfolding.exceptions.len() <= MAX_EXCEPTIONS, "lines")?;
        let patterns = known(calls)?;
        curve_of(patterns, self.pattern)?;
        let lines = patterns.outline(self.pattern, &self.unfolding);
        Ok(CallsReply::Done(lines))
    }

    fn answer_bytes(lines: &Vec<OutlineLine>) -> usize {
        let of_line = |line: &OutlineLine| line.text.len() + size_of_val(line.path.as_slice());
        size_of_val(lines.as_slice()) + lines.iter().map(of_line).sum::<usize>()
    }
}

impl AskCalls for IterationAt {
    type Answer = Option<usize>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Option<usize>>, CallsRefusal> {
        calls.check_lane(self.lane)?;
        check_time(self.time, self.time)?;
        let iteration = known(calls)?.iteration_at(self.lane, self.time);
        Ok(CallsReply::Done(iteration))
    }

    fn answer_bytes(_: &Option<usize>) -> usize {
        size_of::<Option<usize>>()
    }
}

impl AskCalls for UnevenOf {
    type Answer = Vec<UnevenIteration>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<UnevenIteration>>, CallsRefusal> {
        check_number(self.num_columns <= MAX_COLUMNS, "columns")?;
        let patterns = known(calls)?;
        let all = most_uneven(patterns.imbalances(), self.num_columns);
        let columns = all.into_iter().filter_map(|imbalance| {
            let (from, to) = patterns.iterations()?.span(imbalance.iteration)?;
            Some(UnevenIteration {
                imbalance,
                from,
                to,
            })
        });
        Ok(CallsReply::Done(columns.collect()))
    }

    fn answer_bytes(columns: &Vec<UnevenIteration>) -> usize {
        size_of_val(columns.as_slice())
    }
}

/// Returns the most uneven iteration of each of at most `num_columns` columns.
fn most_uneven(all: &[Imbalance], num_columns: usize) -> Vec<Imbalance> {
    let num_columns = num_columns.min(all.len());
    let bound = |column: usize| column * all.len() / num_columns.max(1);
    let parts = (0..num_columns).map(|column| &all[bound(column)..bound(column + 1)]);
    let most = |part: &[Imbalance]| {
        let it = part.iter();
        it.max_by(|a, b| a.share().total_cmp(&b.share())).copied()
    };
    parts.filter_map(most).collect()
}
