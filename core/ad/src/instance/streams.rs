//! The streams of an instance: opening them, and reading their next steps.

use std::time::{Duration, Instant};

use callgrove_model::RankId;
use callgrove_source::SourceError;
use rayon::prelude::*;

use super::status::STATUS_DELAY;
use super::turn::{Positioned, Turn, TurnLimit, TurnSteps, take_turns};
use crate::announcements::StreamAnnouncements;
use crate::error::AdError;
use crate::options::Pacing;
use crate::rank_detector::RankDetector;
use crate::stream_reader::{
    OpenStream, Reading, StepInput, StepPoll, StepsAhead, StreamReader, WriterGone,
};

/// Maximum time that an ending instance waits for streams that are being opened. If the reader is gone when an SST
/// writer answers, the writer hangs or crashes (seen with ADIOS2 2.12.1), and with it the job.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// Maximum time that a live round without a step waits before it checks all streams again.
const LIVE_WAIT: Duration = Duration::from_millis(100);

/// A stream to read.
pub struct Stream {
    /// Its rank.
    pub rank: RankId,
    /// Opens the stream; runs on the thread that reads it.
    pub open: OpenStream,
    /// The name of the stream in warnings.
    pub path: String,
    /// Opens a recorded stream for the second pass, which judges; `None` for a live stream, which is read once.
    pub reopen: Option<OpenStream>,
    /// Set once nothing more is written to a live stream.
    pub writer_gone: WriterGone,
}

/// The streams of an instance, in order of rank.
pub(super) struct Streams {
    pacing: Pacing,
    readers: Vec<StreamReader>,
    /// What the readers of live streams have read ahead.
    steps_ahead: StepsAhead,
    are_recorded: bool,
    /// Open the streams for the second pass; empty for live streams.
    reopen: Vec<OpenStream>,
    /// The largest number of ranks that any stream states.
    num_ranks: u32,
}

impl Streams {
    /// Returns no streams. `are_recorded` is true if all that are added can be opened again.
    pub(super) fn new(pacing: Pacing, are_recorded: bool) -> Self {
        Self {
            pacing,
            readers: Vec::new(),
            steps_ahead: StepsAhead::default(),
            are_recorded,
            reopen: Vec::new(),
            num_ranks: 0,
        }
    }

    /// Starts to read a stream, which gets the next index. `known` is what it announced to an earlier instance.
    pub(super) fn add(
        &mut self,
        stream: Stream,
        known: StreamAnnouncements,
    ) -> Result<(), AdError> {
        self.reopen.extend(stream.reopen);
        let reading = Reading {
            open: stream.open,
            rank: stream.rank,
            path: stream.path,
            known,
            is_live: self.pacing == Pacing::Live,
            writer_gone: stream.writer_gone,
            // The first pass only learns, and models need nothing but function events.
            functions_only: self.are_recorded,
        };
        self.readers.push(match self.pacing {
            Pacing::Lockstep => StreamReader::new(reading),
            Pacing::Live => StreamReader::ahead(reading, self.steps_ahead.clone())?,
        });
        Ok(())
    }

    /// Opens the streams for the second pass.
    pub(super) fn reopen(&mut self, ranks: &[RankId]) -> Result<(), AdError> {
        let readers = self.readers.iter_mut().zip(self.reopen.drain(..));
        for ((reader, reopen), &rank) in readers.zip(ranks) {
            let source = reopen()?;
            *reader = StreamReader::new(Reading {
                open: Box::new(move || Ok(source)),
                rank,
                path: reader.path().to_owned(),
                known: StreamAnnouncements::default(),
                is_live: false,
                writer_gone: WriterGone::default(),
                functions_only: false,
            });
        }
        Ok(())
    }

    /// Returns the number of streams.
    pub(super) fn len(&self) -> usize {
        self.readers.len()
    }

    /// Returns the largest number of ranks that any stream states.
    pub(super) fn num_ranks(&self) -> u32 {
        self.num_ranks
    }

    /// Returns the largest number of ranks that any recorded stream states; `None` for live streams.
    pub(super) fn recorded_ranks(&self) -> Option<u32> {
        self.are_recorded.then_some(self.num_ranks)
    }

    /// Returns whether all streams have ended.
    pub(super) fn have_ended(&self) -> bool {
        self.readers.iter().all(StreamReader::has_ended)
    }

    /// Processes the next steps of each recorded stream in parallel ([`take_turns`]).
    pub(super) fn take_turns<T: Send>(
        &mut self,
        detectors: &mut [RankDetector],
        limit: TurnLimit,
        work: impl Fn(&mut RankDetector, &mut TurnSteps<'_>) -> T + Sync,
    ) -> Vec<(T, Turn)> {
        let turns = take_turns(&mut self.readers, detectors, limit, work);
        let num_ranks = turns.iter().map(|(_, turn)| turn.num_ranks).max();
        self.num_ranks = self.num_ranks.max(num_ranks.unwrap_or_default());
        turns
    }

    /// Ends the reading of live streams after their current steps.
    pub(super) fn stop(&self) {
        self.readers.iter().for_each(StreamReader::stop);
    }

    /// Returns the next step of each stream that has one. Warnings of streams that end go to the detectors.
    pub(super) fn collect(&mut self, detectors: &mut [RankDetector]) -> Positioned<StepInput> {
        let next = |reader: &mut StreamReader| (!reader.has_ended()).then(|| reader.next());
        let polls: Vec<Option<StepPoll>> = self.readers.par_iter_mut().map(next).collect();
        let mut inputs = Vec::new();
        for (position, poll) in polls.into_iter().enumerate() {
            match poll {
                Some(StepPoll::Step(input)) => {
                    self.num_ranks = self.num_ranks.max(input.num_ranks);
                    inputs.push((position, *input));
                }
                Some(StepPoll::NotReady) | None => {}
                Some(StepPoll::End(warnings)) => detectors[position].warnings.join(warnings),
            }
        }
        if inputs.is_empty() && self.pacing == Pacing::Live {
            self.steps_ahead.wait(LIVE_WAIT);
        }
        inputs
    }

    /// Returns a message if streams take long to open: a running job may take long to answer.
    pub(super) fn opening(&self) -> Option<String> {
        let mut opening = self.readers.iter().filter_map(StreamReader::opening);
        let message = "streams are not open yet: waiting for the job to start, or for the next step of a running job";
        let is_long = opening.any(|waited| waited > STATUS_DELAY);
        is_long.then(|| message.to_owned())
    }

    /// Returns whether an instance may end, which was asked to end at the time kept in `asked`.
    pub(super) fn may_end(&self, asked: &mut Option<Instant>) -> bool {
        let asked = asked.get_or_insert_with(Instant::now);
        let is_opening = self.readers.iter().any(|it| it.opening().is_some());
        !is_opening || asked.elapsed() > ANSWER_WAIT
    }

    /// Returns the error of the first stream, if no stream could be opened.
    pub(super) fn failure_of_all(&mut self) -> Option<SourceError> {
        let failures = self.readers.iter_mut().map(StreamReader::take_failure);
        let failures: Option<Vec<SourceError>> = failures.collect();
        failures?.into_iter().next()
    }
}
