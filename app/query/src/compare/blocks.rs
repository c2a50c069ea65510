//! The blocks that a run is cut into: consecutive iterations, or equal parts of its time.

use std::collections::BTreeMap;

use callgrove_model::{LaneIdx, TimeNs, Trace};
use callgrove_patterns::{Iterations, LanePasses};

/// Number of blocks of a side of a comparison: two sides of 16 can differ with a p-value of 3e-9, which survives the
/// correction for thousands of tests, and their range is known without the extreme blocks.
const NUM_BLOCKS: usize = 16;

/// Minimum number of iterations in a block, so that a typical duration of a block exists.
const MIN_ITERATIONS: usize = 4;

/// The part of a run that is a side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedPart {
    /// The whole run.
    Whole,
    /// The first half of its iterations.
    FirstHalf,
    /// The second half.
    SecondHalf,
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockPlace {
    /// In a block of the side.
    Block(usize),
    /// Outside the iterations, or in the warm-up.
    Outside,
    /// In the other half of the run.
    Elsewhere,
}

/// The blocks of one side.
pub(super) struct Blocks<'a> {
    passes: Passes<'a>,
    part: ComparedPart,
    /// The first iteration of each block of the whole run and the end of the last; the first block is the warm-up.
    bounds: Vec<usize>,
    /// Number of blocks a side.
    num_of_side: usize,
}

/// The unit of the blocks.
enum Passes<'a> {
    /// The passes of the loop on each lane, or those of another thread of its rank.
    Loop(Vec<Option<&'a LanePasses>>),
    /// The start of each part of the time, and the end.
    Time(Vec<TimeNs>),
}

impl<'a> Blocks<'a> {
    pub(super) fn new(
        trace: &Trace,
        iterations: Option<&'a Iterations>,
        part: ComparedPart,
    ) -> Self {
        let num_sides = if part == ComparedPart::Whole { 1 } else { 2 };
        let most = NUM_BLOCKS * num_sides + 1;
        let iterations = iterations.filter(|it| it.len() >= MIN_ITERATIONS * (num_sides + 1));
        let (passes, num_iterations, num_all) = match iterations {
            Some(found) => {
                let num_all = (found.len() / MIN_ITERATIONS).min(most);
                (Passes::Loop(passes(trace, found)), found.len(), num_all)
            }
            None => (Passes::Time(time_bounds(trace, most)), most, most),
        };
        let num_blocks = num_all.saturating_sub(1) / num_sides;
        let num_all = num_blocks * num_sides + 1;
        Self {
            passes,
            part,
            bounds: (0..=num_all)
                .map(|at| at * num_iterations / num_all)
                .collect(),
            num_of_side: num_blocks,
        }
    }

    /// Returns whether the blocks consist of iterations of the program.
    pub(super) fn are_iterations(&self) -> bool {
        matches!(self.passes, Passes::Loop(_))
    }

    /// Returns the number of iterations in each block of the side.
    pub(super) fn iterations_in_block(&self) -> Vec<usize> {
        let sizes = self.bounds.windows(2).map(|pair| pair[1] - pair[0]);
        let skipped = 1 + self.first_block();
        sizes.skip(skipped).take(self.num_of_side).collect()
    }

    /// Returns the passes of a lane with their blocks, as start and end.
    pub(super) fn durations(&self, lane: LaneIdx) -> Vec<(usize, i64)> {
        let Passes::Loop(lanes) = &self.passes else {
            return Vec::new();
        };
        let Some(passes) = lanes.get(lane.index()).copied().flatten() else {
            return Vec::new();
        };
        let numbered = passes.starts.iter().zip(&passes.ends).enumerate();
        let placed =
            numbered.filter_map(|(iteration, (start, end))| match self.place_of(iteration) {
                BlockPlace::Block(block) => Some((block, end.since(*start).0)),
                BlockPlace::Outside | BlockPlace::Elsewhere => None,
            });
        placed.collect()
    }

    /// Returns where a time is on a lane.
    pub(super) fn place(&self, lane: LaneIdx, time: TimeNs) -> BlockPlace {
        let outside = if self.part == ComparedPart::Whole {
            BlockPlace::Outside
        } else {
            BlockPlace::Elsewhere
        };
        let iteration = match &self.passes {
            Passes::Loop(lanes) => lanes
                .get(lane.index())
                .copied()
                .flatten()
                .and_then(|passes| {
                    let last = passes.starts.partition_point(|start| *start <= time);
                    let iteration = last.checked_sub(1)?;
                    (time < *passes.ends.get(iteration)?).then_some(iteration)
                }),
            Passes::Time(bounds) => bounds
                .partition_point(|start| *start <= time)
                .checked_sub(1),
        };
        iteration.map_or(outside, |iteration| match self.place_of(iteration) {
            BlockPlace::Outside => outside,
            place => place,
        })
    }

    fn first_block(&self) -> usize {
        match self.part {
            ComparedPart::SecondHalf => self.num_of_side,
            ComparedPart::Whole | ComparedPart::FirstHalf => 0,
        }
    }

    fn place_of(&self, iteration: usize) -> BlockPlace {
        let block = self.bounds.partition_point(|bound| *bound <= iteration);
        // The first bound is 0, so block 1 is the warm-up.
        let Some(block) = block.checked_sub(2) else {
            return BlockPlace::Outside;
        };
        match block.checked_sub(self.first_block()) {
            Some(block) if block < self.num_of_side => BlockPlace::Block(block),
            _ => BlockPlace::Elsewhere,
        }
    }
}

/// Returns for each lane its passes, or else those of a thread of its rank that has some.
fn passes<'a>(trace: &Trace, iterations: &'a Iterations) -> Vec<Option<&'a LanePasses>> {
    let own = |lane| Some(iterations.on_lane(lane)).filter(|it| !it.starts.is_empty());
    let mut of_rank = BTreeMap::new();
    for (at, lane) in trace.lanes() {
        if let Some(passes) = own(at) {
            of_rank.entry((lane.program, lane.rank)).or_insert(passes);
        }
    }
    let of_lane = trace.lanes().map(|(at, lane)| {
        let other = of_rank.get(&(lane.program, lane.rank)).copied();
        own(at).or(other)
    });
    of_lane.collect()
}

/// Returns the starts of equal parts of the run's time, and its end.
fn time_bounds(trace: &Trace, num_parts: usize) -> Vec<TimeNs> {
    let Some((start, end)) = trace.time_span() else {
        return Vec::new();
    };
    let [span, parts] = [end.since(start).0, i64::try_from(num_parts).unwrap_or(1)].map(i128::from);
    let bounds = (0..parts).map(|at| {
        let after = i64::try_from(span * at / parts).unwrap_or(0);
        TimeNs(start.0.saturating_add(after))
    });
    bounds.collect()
}
