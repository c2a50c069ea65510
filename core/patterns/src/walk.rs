//! The occurrences of each pattern: a lane is walked together with the grammar.

use callgrove_model::{
    Cancelled, DurationNs, ExecIdx, Executions, LaneIdx, Progress, TimeNs, Trace,
};

use super::calls::{LaneCalls, next_sibling, share};
use super::pattern::{Occurrence, Times};
use super::rules::{RuleItem, RulePart, Rules};
use super::symbols::{Body, Sym, index, number};

/// Number of items between two checks for cancellation.
const ITEMS_PER_CHECK: u32 = 1 << 16;

/// The occurrences and repeat counts that the grammar does not contain.
pub(super) struct WalkedOccurrences {
    /// Occurrences of each rule, by lane and time.
    pub(super) occurrences: Vec<Vec<Occurrence>>,
    /// Repeat counts of each item.
    pub(super) times: Vec<Times>,
    /// For each lane, in the order of its events: the repeat counts of items with varying counts.
    pub(super) counts: Vec<Vec<u32>>,
}

/// Walks all lanes. Linear in the executions.
pub(super) fn walk(
    trace: &Trace,
    calls: &[LaneCalls],
    rules: &Rules,
    progress: Progress<'_>,
) -> Result<WalkedOccurrences, Cancelled> {
    let never = Times {
        min: u32::MAX,
        max: 0,
    };
    let with_capacity =
        |rule: &super::rules::GrammarRule| Vec::with_capacity(index(rule.num_occurrences));
    let mut found = WalkedOccurrences {
        occurrences: rules.patterns.iter().map(with_capacity).collect(),
        times: rules
            .items
            .iter()
            .map(|item| {
                item.times.map_or(never, |times| Times {
                    min: times,
                    max: times,
                })
            })
            .collect(),
        counts: Vec::with_capacity(calls.len()),
    };
    let mut counted = Vec::new();
    for (((lane_idx, lane), calls), &root) in trace.lanes().zip(calls).zip(&rules.roots) {
        let from = share(lane_idx.index(), trace.lanes.len());
        let part = progress.part(from, share(lane_idx.index() + 1, trace.lanes.len()));
        let mut walker = Walker {
            lane: lane_idx,
            executions: &lane.executions,
            of_row: &calls.of_row,
            rules,
            row: 0,
            counts: Vec::new(),
        };
        walker.run(root, &mut found, part)?;
        counted.push(walker.counts);
    }
    // A count that never varies is in the definition.
    for counts in counted {
        let differing = counts.iter().filter(|&&(item, _)| {
            let times = found.times[index(item)];
            times.min < times.max
        });
        found
            .counts
            .push(differing.map(|&(_, count)| count).collect());
    }
    Ok(found)
}

struct Walker<'a> {
    lane: LaneIdx,
    executions: &'a Executions,
    of_row: &'a [Sym],
    rules: &'a Rules,
    row: usize,
    /// Repeat counts of items for which the grammar has none.
    counts: Vec<(u32, u32)>,
}

/// A rule, or the lane, that is being walked.
struct Frame {
    /// The rule; `None` for the lane.
    rule: Option<u32>,
    /// Index of the item in the enclosing rule.
    item: u32,
    body: Body,
    next: u32,
    /// First row of the rule.
    first: usize,
    /// First row of the last call on the rule's own level.
    last: usize,
    /// Number of written-out calls that are open in the rule.
    num_open: u32,
    /// Number of passes walked.
    passes: u32,
    /// Index of that number in the list of counts.
    count_at: Option<usize>,
}

impl Walker<'_> {
    fn run(
        &mut self,
        root: Body,
        found: &mut WalkedOccurrences,
        progress: Progress<'_>,
    ) -> Result<(), Cancelled> {
        let mut frames = vec![self.frame(None, 0, root)];
        let mut num_seen = 0_u32;
        while let Some(frame) = frames.last_mut() {
            num_seen = num_seen.wrapping_add(1);
            if num_seen.is_multiple_of(ITEMS_PER_CHECK) {
                progress.at(share(self.row, self.of_row.len()))?;
            }
            if frame.next == frame.body.end {
                if self.end_pass(frame, found) {
                    let last = frame.last;
                    frames.pop();
                    if let Some(outer) = frames.last_mut().filter(|outer| outer.num_open == 0) {
                        outer.last = last;
                    }
                }
                continue;
            }
            let item = frame.next;
            frame.next += 1;
            match self.rules.items[index(item)].part {
                RulePart::Enter(_) => {
                    if frame.num_open == 0 {
                        frame.last = self.row;
                    }
                    // A call that is never left is outside every pattern's own level.
                    frame.num_open += 1;
                    self.row += 1;
                }
                RulePart::Leave(_) => frame.num_open = frame.num_open.saturating_sub(1),
                RulePart::Call(_) => {
                    let last = self.leaves(item, found);
                    if frame.num_open == 0 {
                        frame.last = last;
                    }
                }
                RulePart::Rule(rule) => {
                    let body = self.rules.patterns[index(rule)].items;
                    let inner = self.frame(Some(rule), item, body);
                    frames.push(inner);
                }
            }
        }
        Ok(())
    }

    fn frame(&mut self, rule: Option<u32>, item: u32, body: Body) -> Frame {
        let is_counted = rule.is_some() && self.rules.items[index(item)].times.is_none();
        let count_at = is_counted.then_some(self.counts.len());
        if is_counted {
            self.counts.push((item, 0));
        }
        Frame {
            rule,
            item,
            body,
            next: body.start,
            first: self.row,
            last: self.row,
            num_open: 0,
            passes: 0,
            count_at,
        }
    }

    /// Ends a pass of a rule; returns whether it was the last one.
    fn end_pass(&mut self, frame: &mut Frame, found: &mut WalkedOccurrences) -> bool {
        let Some(rule) = frame.rule else { return true };
        if self.rules.patterns[index(rule)].func.is_some() {
            frame.last = frame.first;
        }
        let occurrence = self.occurrence(frame);
        found.occurrences[index(rule)].push(occurrence);
        frame.passes += 1;
        let item = self.rules.items[index(frame.item)];
        let continues_run = match item.times {
            Some(times) => frame.passes < times,
            None => self.continues_run(&item, frame.first),
        };
        if continues_run {
            (frame.first, frame.last) = (self.row, self.row);
            (frame.next, frame.num_open) = (frame.body.start, 0);
        } else if let Some(at) = frame.count_at {
            self.counts[at].1 = frame.passes;
            note(&mut found.times[index(frame.item)], frame.passes);
        }
        !continues_run
    }

    fn occurrence(&self, frame: &Frame) -> Occurrence {
        let exec = ExecIdx::from_index(frame.first);
        let start = self.time_of_entry(frame.first);
        let end = self.executions.exit(ExecIdx::from_index(frame.last));
        Occurrence {
            lane: self.lane,
            first: exec,
            num_calls: number(self.row - frame.first),
            start,
            duration: end.since(start),
        }
    }

    fn time_of_entry(&self, row: usize) -> TimeNs {
        self.executions
            .entry
            .get(row)
            .copied()
            .unwrap_or(TimeNs::default() + DurationNs::ZERO)
    }

    /// Walks a run of calls in which nothing was recorded; returns the row of the last one.
    fn leaves(&mut self, item: u32, found: &mut WalkedOccurrences) -> usize {
        let RuleItem { times, .. } = self.rules.items[index(item)];
        let first = self.row;
        if let Some(times) = times {
            self.row += index(times);
            return self.row - 1;
        }
        let mut count = 1;
        self.row += 1;
        while self.continues_run(&self.rules.items[index(item)], first) {
            self.row += 1;
            count += 1;
        }
        self.counts.push((item, count));
        note(&mut found.times[index(item)], count);
        self.row - 1
    }

    /// Returns whether the next row continues a run of equal calls, one of which began at `before`.
    fn continues_run(&self, item: &RuleItem, before: usize) -> bool {
        self.row < self.of_row.len()
            && self.of_row[self.row] == item.sym
            && self.executions.parent[self.row] == self.executions.parent[before]
            && next_sibling(self.executions, before) <= self.row
    }
}

fn note(times: &mut Times, count: u32) {
    times.min = times.min.min(count);
    times.max = times.max.max(count);
}
