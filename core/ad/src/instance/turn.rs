//! Turns: steps of recorded ranks, each rank's worked on where they are read.

use std::time::{Duration, Instant};

use callgrove_model::Warnings;
use rayon::prelude::*;

use crate::rank_detector::RankDetector;
use crate::stream_reader::{StepInput, StepPoll, StreamReader};

/// A rank's turn ends with the step in which it has had so many function events.
const EVENTS_A_TURN: u64 = 1 << 15;
/// The exchange is asked after so many function events of all ranks,
const EVENTS_UNTOLD: u64 = 1 << 18;
/// or so much time: where steps are small, it would cost more than they do.
const TIME_UNTOLD: Duration = Duration::from_millis(100);

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
    turn: Turn,
    warnings: Warnings,
}

/// When the exchange was asked last.
#[derive(Debug)]
pub(super) struct ExchangePace {
    /// Function events since then.
    pub(super) num_events: u64,
    at: Instant,
}

impl Default for ExchangePace {
    fn default() -> Self {
        Self {
            num_events: 0,
            at: Instant::now(),
        }
    }
}

impl ExchangePace {
    /// Whether it is to be asked again.
    pub(super) fn is_due(&self) -> bool {
        self.num_events >= EVENTS_UNTOLD || self.at.elapsed() >= TIME_UNTOLD
    }
}

impl Iterator for TurnSteps<'_> {
    type Item = StepInput;

    fn next(&mut self) -> Option<StepInput> {
        let turn = &mut self.turn;
        if turn.waiting.is_some() || turn.num_events >= EVENTS_A_TURN || self.reader.has_ended() {
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
    work: impl Fn(&mut RankDetector, &mut TurnSteps<'_>) -> T + Sync,
) -> Vec<(T, Turn)> {
    let turn = |(reader, detector): (&mut StreamReader, &mut RankDetector)| {
        let mut steps = TurnSteps {
            reader,
            turn: Turn::default(),
            warnings: Warnings::default(),
        };
        let done = work(detector, &mut steps);
        detector.warnings.join(steps.warnings);
        (done, steps.turn)
    };
    readers.par_iter_mut().zip(detectors).map(turn).collect()
}
