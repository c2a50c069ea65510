//! The streams of an AD instance.
//!
//! A recorded stream is read by the worker that processes its next step. So no thread waits, and the step is still in
//! the worker's cache. A live stream has its own thread that reads ahead, because reading it can block.

mod read_ahead;
mod reader;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_source::SourceError;

use crate::error::AdError;
use read_ahead::ReadAhead;
use reader::OpenedStream;

pub(crate) use read_ahead::StepsAhead;
pub use reader::{OpenStream, WriterGone};
pub(crate) use reader::{Reading, StepInput, StepPoll};

/// The stream of a rank, step by step.
pub(crate) struct StreamReader {
    steps: Steps,
    has_ended: bool,
    /// The error of a failed attempt to open the stream.
    failure: Option<SourceError>,
    rank: RankId,
    path: String,
}

/// The source of the steps.
enum Steps {
    /// The stream is opened when the first step is requested.
    NotOpen(Box<Reading>),
    Open(Box<OpenedStream>),
    Ahead(ReadAhead),
    /// The stream is over or broken.
    Gone,
}

impl StreamReader {
    /// Returns a reader that reads on request.
    pub(crate) fn new(reading: Reading) -> Self {
        let (rank, path) = (reading.rank, reading.path.clone());
        Self::of(Steps::NotOpen(Box::new(reading)), rank, path)
    }

    /// Returns a reader whose thread opens and reads the stream; it counts its steps in `ahead`.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(crate) fn ahead(reading: Reading, steps_ahead: StepsAhead) -> Result<Self, AdError> {
        let (rank, path) = (reading.rank, reading.path.clone());
        let steps = Steps::Ahead(ReadAhead::start(reading, steps_ahead)?);
        Ok(Self::of(steps, rank, path))
    }

    fn of(steps: Steps, rank: RankId, path: String) -> Self {
        Self {
            steps,
            has_ended: false,
            failure: None,
            rank,
            path,
        }
    }

    /// Returns the next step. A stream that is read ahead returns `NotReady` if it has no step yet.
    pub(crate) fn next(&mut self) -> StepPoll {
        if self.has_ended {
            return StepPoll::End(Warnings::default());
        }
        let poll = self.poll().unwrap_or_else(|| self.broken());
        self.has_ended = matches!(poll, StepPoll::End(_));
        if self.has_ended {
            self.steps = Steps::Gone;
        }
        poll
    }

    /// Returns the name of the stream in warnings.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether the end of the stream was returned.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns how long the stream has been opening, if it is not open yet.
    pub(crate) fn opening(&self) -> Option<Duration> {
        match &self.steps {
            Steps::Ahead(thread) => thread.opening(),
            _ => None,
        }
    }

    /// Ends the thread of a stream that is read ahead, after its current step.
    pub(crate) fn stop(&self) {
        if let Steps::Ahead(thread) = &self.steps {
            thread.stop();
        }
    }

    /// Takes the error of a failed attempt to open the stream.
    pub(crate) fn take_failure(&mut self) -> Option<SourceError> {
        self.failure.take()
    }

    /// Returns the next step, or `None` if the stream could not be opened or reading it panicked.
    fn poll(&mut self) -> Option<StepPoll> {
        if let Steps::Ahead(thread) = &mut self.steps {
            let poll = thread.next_if_ready();
            if poll.is_none() {
                self.failure = thread.take_failure();
            }
            return poll;
        }
        let steps = std::mem::replace(&mut self.steps, Steps::Gone);
        let read = || {
            let mut reader = match steps {
                Steps::NotOpen(reading) => Box::new(OpenedStream::open(*reading)?),
                Steps::Open(reader) => reader,
                Steps::Ahead(_) | Steps::Gone => return Ok(None),
            };
            let poll = reader.read();
            Ok(Some((reader, poll)))
        };
        // A panic in a reading thread does not end the process, so a panic here must not either.
        match catch_unwind(AssertUnwindSafe(read)).ok()? {
            Ok(read) => {
                let (reader, poll) = read?;
                self.steps = Steps::Open(reader);
                Some(poll)
            }
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// Returns the end of a broken stream; the steps before it have been delivered.
    fn broken(&self) -> StepPoll {
        let (kind, reason) = if let Some(error) = &self.failure {
            (WarningKind::RankUnreadable, error.with_causes())
        } else {
            let fault = format!(
                "an internal error ended the reader of the stream: {}",
                self.path
            );
            (WarningKind::StreamTruncated, fault)
        };
        let mut warnings = Warnings::default();
        warnings.count(kind, Some(self.rank), || reason);
        StepPoll::End(warnings)
    }
}
