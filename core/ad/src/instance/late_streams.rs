//! The streams that appear after an instance has started to read others.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use callgrove_model::{RankId, count_of};
use callgrove_provdb::ProvDbError;

use super::claimed_rank::ClaimedRank;
use super::status::STATUS_DELAY;
use super::streams::Stream;

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
    pub(super) streams: Option<Box<dyn LateStreams>>,
    /// The streams whose ranks are being claimed.
    pub(super) claimed: Vec<Claiming>,
    since: Instant,
    /// The time of the last question to the parameter server, and the missing ranks without readers, if it answered.
    pub(super) asked: Option<(Instant, Option<Vec<RankId>>)>,
}

/// A stream whose rank is being claimed.
pub(super) struct Claiming {
    pub(super) stream: Stream,
    pub(super) answer: Receiver<Result<ClaimedRank, ProvDbError>>,
    pub(super) claimed: Option<ClaimedRank>,
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
        let streams = self.streams.as_ref();
        let streams = streams.filter(|_| self.since.elapsed() > STATUS_DELAY)?;
        let missing = streams.expected().missing?;
        let (first, number) = (missing.first()?, count_of(missing.len(), "rank"));
        let message =
            format!("{number} without a stream yet, the first is {first}: waiting for it");
        Some(message)
    }
}
