//! The streams of an AD instance.
//!
//! Recorded ones are read where their steps are worked on, by whichever worker asks for the next step: no thread waits,
//! and what was read is still in the worker's caches. A live one has a thread that reads ahead, for it can keep its
//! reader waiting.

mod read_ahead;
mod reader;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_trace::TraceError;

use crate::AdError;
use read_ahead::ReadAhead;
use reader::OpenedStream;

pub(crate) use read_ahead::Bell;
pub use reader::OpenStream;
pub(crate) use reader::{Reading, StepInput, StepPoll};

/// The stream of a rank, step by step.
pub(crate) struct StreamReader {
    steps: Steps,
    has_ended: bool,
    /// Why it could not be opened.
    failure: Option<TraceError>,
    rank: RankId,
    path: String,
}

/// Where its steps come from.
enum Steps {
    /// It will be opened when the first is asked for.
    NotOpen(Box<Reading>),
    Open(Box<OpenedStream>),
    Ahead(ReadAhead),
    /// There will be none any more.
    Gone,
}

impl StreamReader {
    /// One that is read when it is asked.
    pub(crate) fn new(reading: Reading) -> Self {
        let (rank, path) = (reading.rank, reading.path.clone());
        Self::of(Steps::NotOpen(Box::new(reading)), rank, path)
    }

    /// One that a thread starts to open and read; `bell` rings when there is something.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(crate) fn ahead(reading: Reading, bell: Bell) -> Result<Self, AdError> {
        let (rank, path) = (reading.rank, reading.path.clone());
        let steps = Steps::Ahead(ReadAhead::start(reading, bell)?);
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

    /// The next step; of a stream that is read ahead, if it has one now.
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

    /// What it is called in warnings.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the stream is over and its end was told.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// How long the stream has been being opened, if it is not open yet.
    pub(crate) fn opening(&self) -> Option<Duration> {
        match &self.steps {
            Steps::Ahead(thread) => thread.opening(),
            _ => None,
        }
    }

    /// Why the stream could not be opened, if so; this can be asked once.
    pub(crate) fn take_failure(&mut self) -> Option<TraceError> {
        self.failure.take()
    }

    /// Nothing if the stream could not be opened, or reading it panicked.
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
        // A thread that reads ahead panics alone, too.
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

    /// The end of a stream without one of its own; what was read before was delivered.
    fn broken(&self) -> StepPoll {
        let (kind, reason) = if let Some(error) = &self.failure {
            (WarningKind::RankUnreadable, error.with_causes())
        } else {
            let fault = format!("a fault of this program ended its reader: {}", self.path);
            (WarningKind::StreamTruncated, fault)
        };
        let mut warnings = Warnings::default();
        warnings.count(kind, Some(self.rank), || reason);
        StepPoll::End(warnings)
    }
}
