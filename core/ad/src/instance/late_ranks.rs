//! Ranks whose streams appear after an instance has started to read others.
//!
//! An instance reads what is there at once, because the ranks of a job start apart, and on several nodes each instance
//! sees the files of its own node only. A rank that appears is claimed, registered at the parameter server, and read
//! from its beginning. At its end an instance waits for those that are still expected, unless others read them.

use std::time::{Duration, Instant};

use callgrove_model::{RankId, WarningKind};

use super::Instance;
use super::joining::resume;
use super::late_streams::Claiming;
use crate::error::AdError;
use crate::rank_detector::RankDetector;

/// Pause between two questions to the parameter server which ranks others read.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

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
        for waiting in &mut self.late.claimed {
            // An answer that never comes is of a database that has closed, which ends the instance.
            if let Ok(answer) = waiting.answer.try_recv() {
                waiting.claimed = Some(answer?);
            }
        }
        let waiting = std::mem::take(&mut self.late.claimed).into_iter();
        let (ready, waiting): (Vec<_>, Vec<_>) = waiting.partition(|it| it.claimed.is_some());
        self.late.claimed = waiting;
        if ready.is_empty() {
            return Ok(());
        }
        let program = self.options.program;
        let detector = |it: &Claiming| RankDetector::new(program, it.stream.rank);
        let mut detectors: Vec<RankDetector> = ready.iter().map(detector).collect();
        let num_before = self.detectors.len();
        let ranks = ready.iter().map(|it| it.stream.rank);
        self.reporter.hello.ranks.extend(ranks);
        if self.reporter.is_registered {
            let Some(welcome) = self.reporter.register()? else {
                // The server knows how far the ranks were reported, so they wait until it is back.
                self.reporter.hello.ranks.truncate(num_before);
                self.late.claimed.extend(ready);
                return Ok(());
            };
            resume(&mut detectors, welcome);
        }
        for (ready, mut detector) in ready.into_iter().zip(detectors) {
            let claimed = ready.claimed.unwrap_or_default();
            detector.known.recorded_until = claimed.recorded_until;
            self.detectors.push(detector);
            self.recorder.add_rank(claimed.claim);
            self.streams.add(ready.stream, claimed.announced)?;
        }
        Ok(())
    }

    /// Returns a message about the expected ranks, once the wait for them is long. While streams are read, other instances
    /// may read the missing ranks.
    pub(super) fn waiting_for_ranks(&self) -> Option<String> {
        let is_alone = !self.reporter.exchange.is_remote() || self.streams.have_ended();
        self.late.message().filter(|_| is_alone)
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
