//! What an instance has added and the server lacks, may lack, or could lose.

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_model::FuncId;

use crate::Contribution;
use crate::incident::bound_briefs;
use crate::protocol::Retention;
use crate::statistics::bound_steps;

/// Most steps whose own numbers wait for the server; older ones are in the totals only.
const MAX_WAITING_STEPS: usize = 4096;
/// Most anomalies and messages of briefs in a contribution that waits or is held; those of older steps are given up.
const MAX_BRIEFS: usize = 1 << 15;
/// Most versions that wait to be saved, should the server fail to save for long.
const MAX_UNSAVED: usize = 64;

/// Contributions in the order in which they were made: first those that the server has, then those that it lacks.
///
/// ```text
/// waiting ─ next ─ sent ─ acknowledge ─ held until it is in the published model ─ and saved, if the server saves
/// ```
///
/// Contributions that wait are one, and so are those that the server holds in the same version; so there are
/// never many, however long the server is away.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    held: VecDeque<Acknowledged>,
    /// The request under way, whose fate may be unknown.
    sent: Option<(u64, Arc<Contribution>)>,
    /// Parts that follow it.
    parts: VecDeque<Contribution>,
    waiting: Contribution,
    last_sequence: u64,
    retention: Retention,
    num_dropped_steps: usize,
}

/// What the server has.
#[derive(Debug)]
struct Acknowledged {
    /// The first request in it.
    first_sequence: u64,
    /// The first version of the global model that holds it.
    included_in: u64,
    contribution: Contribution,
}

impl Outbox {
    /// Adds a contribution at the end.
    pub(super) fn push(&mut self, contribution: Contribution) {
        self.waiting.merge(contribution);
        self.bound_waiting();
    }

    /// The next request, split if it is large: the same as before, until it is acknowledged or discarded.
    pub(super) fn next(&mut self, max_bytes: usize) -> Option<(u64, Arc<Contribution>)> {
        if self.sent.is_none() {
            if self.parts.is_empty() && !self.waiting.is_empty() {
                self.parts = std::mem::take(&mut self.waiting)
                    .into_parts(max_bytes)
                    .into();
            }
            let part = self.parts.pop_front()?;
            self.last_sequence += 1;
            self.sent = Some((self.last_sequence, Arc::new(part)));
        }
        self.sent.clone()
    }

    /// The server has the request under way, and a version of its model will hold it.
    pub(super) fn acknowledge(&mut self, included_in: u64) {
        let Some((sequence, contribution)) = self.sent.take() else {
            return;
        };
        let mut contribution = Arc::unwrap_or_clone(contribution);
        // They were told; should they be sent again, then for the totals.
        contribution.statistics.steps.clear();
        if self.retention == Retention::Nothing {
            // All is held for ever then, which only totals can be.
            contribution.briefs.clear();
        }
        match self.held.back_mut() {
            Some(last) if last.included_in == included_in => {
                last.contribution.merge(contribution);
                bound_briefs(&mut last.contribution.briefs, MAX_BRIEFS);
            }
            _ => self.held.push_back(Acknowledged {
                first_sequence: sequence,
                included_in,
                contribution,
            }),
        }
    }

    /// The server will never take the request under way.
    pub(super) fn discard(&mut self) {
        self.sent = None;
    }

    /// The models of `version` were received, and the server has saved `saved_version`.
    pub(super) fn settle(&mut self, version: u64, saved_version: u64) {
        let is_done = |held: &Acknowledged| match self.retention {
            Retention::Process => held.included_in <= version,
            Retention::Saved => held.included_in <= version.min(saved_version),
            Retention::Nothing => false,
        };
        while self.held.front().is_some_and(is_done) {
            self.held.pop_front();
        }
        let max_held = match self.retention {
            Retention::Nothing => 1,
            Retention::Process | Retention::Saved => MAX_UNSAVED,
        };
        while self.held.len() > max_held && self.held[1].included_in <= version {
            self.merge_oldest();
        }
    }

    /// Whether the server goes on when this process dies.
    pub(super) fn is_server_elsewhere(&self) -> bool {
        self.retention != Retention::Process
    }

    /// Whether the server has everything, and has saved it if it saves anything.
    pub(super) fn is_settled(&self) -> bool {
        let is_told = self.sent.is_none() && self.parts.is_empty() && self.waiting.is_empty();
        is_told && (self.held.is_empty() || self.retention != Retention::Saved)
    }

    /// What of a function the server's `version` lacks, oldest first.
    pub(super) fn models_after(
        &self,
        version: u64,
        fid: FuncId,
    ) -> impl Iterator<Item = &FuncModel> {
        let held = self
            .held
            .iter()
            .filter(move |held| held.included_in > version)
            .map(|held| &held.contribution);
        let sent = self.sent.iter().map(|(_, contribution)| &**contribution);
        held.chain(sent)
            .chain(&self.parts)
            .chain([&self.waiting])
            .filter_map(move |contribution| contribution.models.get(&fid))
    }

    /// A server begins, or begins again, that has the requests up to `last_sequence`: all later ones wait again.
    pub(super) fn begin_epoch(&mut self, last_sequence: u64, retention: Retention) {
        self.retention = retention;
        let mut lost = Contribution::default();
        for held in std::mem::take(&mut self.held) {
            // A contribution that the server has in part is not told twice.
            if held.first_sequence > last_sequence {
                lost.merge(held.contribution);
            }
        }
        if let Some((sequence, contribution)) = self.sent.take()
            && sequence > last_sequence
        {
            lost.merge(Arc::unwrap_or_clone(contribution));
        }
        for part in std::mem::take(&mut self.parts) {
            lost.merge(part);
        }
        lost.merge(std::mem::take(&mut self.waiting));
        self.waiting = lost;
        self.last_sequence = self.last_sequence.max(last_sequence);
        self.bound_waiting();
    }

    pub(super) fn num_dropped_steps(&self) -> usize {
        self.num_dropped_steps
    }

    fn merge_oldest(&mut self) {
        let Some(oldest) = self.held.pop_front() else {
            return;
        };
        let Some(second) = self.held.front_mut() else {
            return;
        };
        let newer = std::mem::replace(&mut second.contribution, oldest.contribution);
        second.contribution.merge(newer);
        second.first_sequence = oldest.first_sequence;
        bound_briefs(&mut second.contribution.briefs, MAX_BRIEFS);
    }

    fn bound_waiting(&mut self) {
        self.num_dropped_steps +=
            bound_steps(&mut self.waiting.statistics.steps, MAX_WAITING_STEPS);
        bound_briefs(&mut self.waiting.briefs, MAX_BRIEFS);
    }
}
