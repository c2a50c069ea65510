//! Turns: some steps of each recorded rank, processed by the worker that reads them.

use std::time::{Duration, Instant};

use callgrove_model::Warnings;
use rayon::prelude::*;

use crate::rank_detector::RankDetector;
use crate::stream_reader::{StepInput, StepPoll, StreamReader};

/// Number of function events of all ranks after which models are exchanged. An exchange costs more than a small step,
/// and the limit bounds the size of a message.
const MAX_UNSENT_EVENTS: u64 = 1 << 17;
/// Number of steps of all ranks after which models are exchanged.
const MAX_UNSENT_STEPS: u64 = 1 << 10;
/// Time after which models are exchanged in any case.
const MAX_UNSENT_TIME: Duration = Duration::from_millis(100);

/// Values by stream index.
pub(super) type Positioned<T> = Vec<(usize, T)>;

/// The limits of a turn: it ends with the step that reaches one of them.
#[derive(Clone, Copy)]
pub(super) struct TurnLimit {
    num_events: u64,
    num_steps: u64,
}

impl TurnLimit {
    /// The limit for learning, which is faster for many steps at once.
    pub(super) const LEARNING: Self = Self {
        num_events: 1 << 15,
        num_steps: u64::MAX,
    };

    /// Returns the limit for judging, where each step is reported. A turn has at least one step.
    pub(super) fn judging(num_ranks: usize) -> Self {
        let num_ranks = (num_ranks as u64).max(1);
        Self {
            num_events: MAX_UNSENT_EVENTS / num_ranks,
            num_steps: MAX_UNSENT_STEPS / num_ranks,
        }
    }
}

/// The counts of a turn.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) num_steps: u64,
    pub(super) num_events: u64,
    pub(super) num_ranks: u32,
    /// The last step, if it has names or a run that the instance must register first.
    pub(super) waiting: Option<StepInput>,
}

/// The steps of a turn, read on demand.
pub(super) struct TurnSteps<'a> {
    reader: &'a mut StreamReader,
    limit: TurnLimit,
    turn: Turn,
    warnings: Warnings,
}

/// Decides when models are exchanged.
#[derive(Debug)]
pub(super) struct ExchangePace {
    /// Function events and steps since the last exchange.
    num_events: u64,
    num_steps: u64,
    at: Instant,
}

impl Default for ExchangePace {
    fn default() -> Self {
        Self {
            num_events: 0,
            num_steps: 0,
            at: Instant::now(),
        }
    }
}

impl ExchangePace {
    /// Counts a turn.
    pub(super) fn add(&mut self, turn: &Turn) {
        self.num_events += turn.num_events;
        self.num_steps += turn.num_steps;
    }

    /// Returns whether models are to be exchanged.
    pub(super) fn is_due(&self) -> bool {
        self.num_events >= MAX_UNSENT_EVENTS
            || self.num_steps >= MAX_UNSENT_STEPS
            || self.at.elapsed() >= MAX_UNSENT_TIME
    }
}

impl Iterator for TurnSteps<'_> {
    type Item = StepInput;

    fn next(&mut self) -> Option<StepInput> {
        let turn = &mut self.turn;
        let (num_steps, num_events) = (turn.num_steps, turn.num_events);
        let is_full = num_steps >= self.limit.num_steps || num_events >= self.limit.num_events;
        if turn.waiting.is_some() || is_full && num_steps > 0 || self.reader.has_ended() {
            return None;
        }
        match self.reader.next() {
            StepPoll::Step(input) => {
                turn.num_steps += 1;
                turn.num_events += input.num_events();
                turn.num_ranks = turn.num_ranks.max(input.num_ranks);
                if input.has_news() {
                    turn.waiting = Some(*input);
                    return None;
                }
                Some(*input)
            }
            StepPoll::NotReady => None,
            StepPoll::End(warnings) => {
                self.warnings.join(warnings);
                None
            }
        }
    }
}

/// Processes the next steps of each recorded rank in parallel, while they are in the cache of the worker that reads
/// them. A step with new names or a new identity of the run ends a turn and waits.
pub(super) fn take_turns<T: Send>(
    readers: &mut [StreamReader],
    detectors: &mut [RankDetector],
    limit: TurnLimit,
    work: impl Fn(&mut RankDetector, &mut TurnSteps<'_>) -> T + Sync,
) -> Vec<(T, Turn)> {
    let turn = |(reader, detector): (&mut StreamReader, &mut RankDetector)| {
        let mut steps = TurnSteps {
            reader,
            limit,
            turn: Turn::default(),
            warnings: Warnings::default(),
        };
        let done = work(detector, &mut steps);
        detector.warnings.join(steps.warnings);
        (done, steps.turn)
    };
    readers.par_iter_mut().zip(detectors).map(turn).collect()
}

/// Returns the detectors that have a step, each with its index and step.
pub(super) fn at_work(
    detectors: &mut [RankDetector],
    inputs: Positioned<StepInput>,
) -> Vec<(usize, &mut RankDetector, StepInput)> {
    let mut inputs = inputs.into_iter().peekable();
    let with_step = detectors.iter_mut().enumerate();
    let with_step = with_step.filter_map(|(position, detector)| {
        let (_, input) = inputs.next_if(|(of, _)| *of == position)?;
        Some((position, detector, input))
    });
    with_step.collect()
}
