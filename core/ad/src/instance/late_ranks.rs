//! Ranks whose streams appear after an instance has started to read others.
//!
//! An instance reads what is there at once, because the ranks of a job start apart, and on several nodes each instance
//! sees the files of its own node only. A rank that appears is claimed, registered at the parameter server, and read
//! from its beginning. At its end an instance waits for those that are still expected, unless others read them.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use callgrove_model::{RankId, WarningKind};
use callgrove_provdb::ProvDbError;

use super::Instance;
use super::claimed_rank::ClaimedRank;
use super::joining::resume;
use super::status::STATUS_DELAY;
use super::streams::Stream;
use crate::error::AdError;
use crate::rank_detector::RankDetector;

/// Pause between two questions to the parameter server which ranks others read.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Finds the streams that appear while an instance reads others. No call waits.
pub trait LateStreams: Send {
    /// Returns the streams that have appeared since the last call.
    fn take_new(&mut self) -> Vec<Stream>;

    /// Returns what is still expected. A stream is expected until [`LateStreams::take_new`] has returned it.
    fn expected(&self) -> ExpectedStreams;
}

/// The streams that have not appeared yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedStreams {
    /// Their ranks, in ascending order; `None` while it is unknown which ranks the run has.
    pub missing: Option<Vec<RankId>>,
    /// True if they are not waited for any longer.
    pub is_given_up: bool,
    /// Number of steps, of all streams together, that were lost on their way to the files.
    pub num_dropped: u64,
}

/// The late ranks of an instance.
pub(super) struct LateRanks {
    streams: Option<Box<dyn LateStreams>>,
    /// The streams whose ranks are being claimed.
    claimed: Vec<Claiming>,
    since: Instant,
    /// The time of the last question to the parameter server, and the missing ranks that nobody reads, if it answered.
    asked: Option<(Instant, Option<Vec<RankId>>)>,
}

/// A stream whose rank is being claimed.
struct Claiming {
    stream: Stream,
    answer: Receiver<Result<ClaimedRank, ProvDbError>>,
    claimed: Option<ClaimedRank>,
}

impl LateRanks {
    pub(super) fn new(streams: Option<Box<dyn LateStreams>>) -> Self {
        Self {
            streams,
            claimed: Vec::new(),
            since: Instant::now(),
            asked: None,
        }
    }

    /// Returns a message about the expected ranks, once the wait for them is long.
    pub(super) fn message(&self) -> Option<String> {
        let missing = self.streams.as_ref()?.expected().missing?;
        let first = missing.first()?;
        (self.since.elapsed() > STATUS_DELAY).then(|| {
            let number = missing.len();
            format!("{number} ranks have no stream yet, the first is {first}; waiting for it")
        })
    }
}

impl Instance {
    /// Starts to read the streams that have appeared, as soon as their ranks are claimed and registered.
    pub(super) fn add_late_ranks(&mut self) -> Result<(), AdError> {
        let Some(streams) = &mut self.late.streams else {
            return Ok(());
        };
        for stream in streams.take_new() {
            let answer = self.recorder.claim_late(stream.rank);
            self.late.claimed.push(Claiming {
                stream,
                answer,
                claimed: None,
            });
        }
        for waiting in self
            .late
            .claimed
            .iter_mut()
            .filter(|it| it.claimed.is_none())
        {
            match waiting.answer.try_recv() {
                Ok(answer) => waiting.claimed = Some(answer?),
                // Without an answer the database has closed, which ends the instance.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
        }
        let ready = self.late.claimed.iter().filter(|it| it.claimed.is_some());
        let new: Vec<RankId> = ready.map(|it| it.stream.rank).collect();
        if new.is_empty() {
            return Ok(());
        }
        let num_before = self.detectors.len();
        let program = self.options.program;
        self.reporter.hello.ranks.extend(&new);
        let mut detectors: Vec<RankDetector> = new
            .iter()
            .map(|&rank| RankDetector::new(program, rank))
            .collect();
        if self.reporter.is_registered {
            let Some(welcome) = self.reporter.register()? else {
                // The server knows how far the ranks were reported, so they wait until it is back.
                self.reporter.hello.ranks.truncate(num_before);
                return Ok(());
            };
            resume(&mut detectors, welcome);
        }
        for mut waiting in std::mem::take(&mut self.late.claimed) {
            let Some(claimed) = waiting.claimed.take() else {
                self.late.claimed.push(waiting);
                continue;
            };
            let place = detectors
                .iter()
                .position(|it| it.rank() == waiting.stream.rank);
            let mut detector = detectors.remove(place.unwrap_or_default());
            detector.known.recorded_until = claimed.recorded_until;
            self.detectors.push(detector);
            self.recorder.add_rank(claimed.claim);
            self.streams.add(waiting.stream, claimed.announced)?;
        }
        Ok(())
    }

    /// Returns whether ranks are still to come, once all streams have ended. Ranks that do not come are counted.
    pub(super) fn awaits_ranks(&mut self) -> Result<bool, AdError> {
        let Some(streams) = &self.late.streams else {
            return Ok(false);
        };
        let expected = streams.expected();
        let is_known = expected.missing.is_some();
        let mut missing = expected.missing.unwrap_or_default();
        if !missing.is_empty() && self.reporter.exchange.is_remote() {
            missing = self.without_readers(missing)?;
        }
        let is_claiming = !self.late.claimed.is_empty();
        let are_all_here = is_known && missing.is_empty();
        if is_claiming || !(are_all_here || expected.is_given_up) {
            return Ok(true);
        }
        let num_ranks = self.streams.num_ranks();
        for rank in missing {
            let place = || format!("rank {rank} of {num_ranks}");
            let warnings = &mut self.status.warnings;
            warnings.count(WarningKind::MissingRank, None, place);
        }
        let (warnings, num_dropped) = (&mut self.status.warnings, expected.num_dropped);
        let place = || "between the job and its files".to_owned();
        warnings.count_many(WarningKind::StepsDropped, None, num_dropped, place);
        self.late.streams = None;
        Ok(false)
    }

    /// Returns those of the ranks that no instance reads or has read, as far as is known.
    fn without_readers(&mut self, ranks: Vec<RankId>) -> Result<Vec<RankId>, AdError> {
        let is_due = self.late.asked.as_ref();
        if is_due.is_none_or(|(at, _)| at.elapsed() > ASK_INTERVAL) {
            let num_ranks = self.streams.num_ranks();
            let progress = self.reporter.exchange.progress(num_ranks)?;
            let unread = progress.map(|progress| progress.absent);
            self.late.asked = Some((Instant::now(), unread));
        }
        let unread = self
            .late
            .asked
            .as_ref()
            .and_then(|(_, unread)| unread.as_ref());
        Ok(match unread {
            Some(unread) => ranks.into_iter().filter(|it| unread.contains(it)).collect(),
            None => ranks,
        })
    }
}
