//! Turns: steps of recorded ranks, each rank's worked on where they are read.

use std::time::{Duration, Instant};

use callgrove_model::Warnings;
use rayon::prelude::*;

use crate::rank_detector::RankDetector;
use crate::stream_reader::{StepInput, StepPoll, StreamReader};

/// The exchange is asked after so many function events or steps of all ranks: it would cost more than small steps do, and
/// what is told at once is bounded.
const EVENTS_UNTOLD: u64 = 1 << 17;
const STEPS_UNTOLD: u64 = 1 << 10;
/// It is asked after so much time in any case.
const TIME_UNTOLD: Duration = Duration::from_millis(100);

/// A turn ends with the step that reaches one of these.
#[derive(Clone, Copy)]
pub(super) struct TurnLimit {
    num_events: u64,
    num_steps: u64,
}

impl TurnLimit {
    /// Where steps are learnt, which is quicker for many at once.
    pub(super) const LEARNING: Self = Self {
        num_events: 1 << 15,
        num_steps: u64::MAX,
    };

    /// Where each step is judged and told: one at least.
    pub(super) fn judging(num_ranks: usize) -> Self {
        let num_ranks = (num_ranks as u64).max(1);
        Self {
            num_events: EVENTS_UNTOLD / num_ranks,
            num_steps: STEPS_UNTOLD / num_ranks,
        }
    }
}

/// What a turn had.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) num_steps: u64,
    pub(super) num_events: u64,
    pub(super) num_ranks: u32,
    /// The last step, if the whole instance has to know what is new in it first.
    pub(super) waiting: Option<StepInput>,
}

/// The steps of a turn, read as they are asked for.
pub(super) struct TurnSteps<'a> {
    reader: &'a mut StreamReader,
    limit: TurnLimit,
    turn: Turn,
    warnings: Warnings,
}

/// When the exchange was asked last.
#[derive(Debug)]
pub(super) struct ExchangePace {
    /// Function events and steps since then.
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
    pub(super) fn note(&mut self, turn: &Turn) {
        self.num_events += turn.num_events;
        self.num_steps += turn.num_steps;
    }

    /// Whether it is to be asked again.
    pub(super) fn is_due(&self) -> bool {
        self.num_events >= EVENTS_UNTOLD
            || self.num_steps >= STEPS_UNTOLD
            || self.at.elapsed() >= TIME_UNTOLD
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

/// Has workers do `work` on the next steps of each recorded rank, while they are in their caches. A step in which there
/// are names or the run's identity ends a turn and waits.
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
