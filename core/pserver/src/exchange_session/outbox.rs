//! The contributions of an instance that the server lacks, may lack, or could lose.

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_incidents::{StallSummary, bound_stall_summaries};
use callgrove_model::FuncId;

use crate::contribution::Contribution;
use crate::protocol::{PartNumber, Retention};
use crate::statistics::bound_steps;

/// Maximum number of steps whose own anomaly counts are kept for the server; older ones are in the totals only.
const MAX_WAITING_STEPS: usize = 4096;
/// Maximum number of stalls and messages in a pending or held contribution of a live run; those of older steps are
/// dropped.
const MAX_STALL_ENTRIES: usize = 1 << 15;
/// Number of stalls, messages and times of all contributions, about 100 MB, at which a recorded run waits for the server.
const MAX_RECORDED_ENTRIES: usize = 1 << 20;
/// Maximum number of versions that the server has and has not saved. They stay apart here, because a restarted server
/// may continue from any of them. Later ones in a log are joined.
const MAX_UNSAVED: usize = 64;

/// Contributions in the order of their creation: first those that the server has, then those that it lacks.
///
/// ```text
/// waiting ─ next ─ acknowledge (all parts) ─ held until it is in the published model ─ and saved, if the server saves
/// ```
///
/// Waiting contributions are merged into one, and so are those that the server holds in the same version. So their
/// number stays small however long the server is unreachable or does not save.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    held: VecDeque<Acknowledged>,
    /// The contribution that is being sent.
    sent: Option<SentContribution>,
    waiting: Contribution,
    last_sequence: u64,
    retention: Retention,
    /// True for a recorded run, which can wait for the server: no stall is dropped.
    is_recorded: bool,
    num_dropped_steps: usize,
}

/// A contribution that is being sent, in parts if it is large. The server merges it when it has all of them.
#[derive(Debug)]
struct SentContribution {
    sequence: u64,
    parts: Vec<Arc<Contribution>>,
    /// The index of the part in flight, which the server may or may not have received.
    next: usize,
}

/// One request of a contribution.
#[derive(Debug, Default)]
pub(super) struct ContributionPart {
    pub(super) number: PartNumber,
    pub(super) content: Arc<Contribution>,
}

impl SentContribution {
    /// Returns the whole contribution.
    fn merged(self) -> Contribution {
        let parts = self.parts.into_iter().map(Arc::unwrap_or_clone);
        let merged = parts.reduce(|mut whole, part| {
            whole.merge(part);
            whole
        });
        merged.unwrap_or_default()
    }
}

/// A contribution that the server has received.
#[derive(Debug)]
struct Acknowledged {
    /// The first sequence number in it.
    first_sequence: u64,
    /// The first version of the global model that includes it.
    included_in: u64,
    contribution: Contribution,
}

impl Outbox {
    /// Adds a contribution at the end.
    pub(super) fn push(&mut self, contribution: Contribution) {
        self.waiting.merge(contribution);
        self.bound_waiting();
    }

    /// Returns the next request. It stays the same until it is acknowledged or discarded. `None` if nothing waits, or if
    /// the server has not saved too many versions: then more contributions wait here.
    pub(super) fn next(&mut self, max_bytes: usize) -> Option<ContributionPart> {
        if self.sent.is_none() {
            let is_full = self.retention == Retention::Saved && self.held.len() >= MAX_UNSAVED;
            if is_full || self.waiting.is_empty() {
                return None;
            }
            let parts = std::mem::take(&mut self.waiting).into_parts(max_bytes);
            self.last_sequence += 1;
            self.sent = Some(SentContribution {
                sequence: self.last_sequence,
                parts: parts.into_iter().map(Arc::new).collect(),
                next: 0,
            });
        }
        let sent = self.sent.as_ref()?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Some(ContributionPart {
            number: PartNumber {
                sequence: sent.sequence,
                index: count(sent.next),
                num_left: count(sent.parts.len().saturating_sub(sent.next + 1)),
            },
            content: Arc::clone(sent.parts.get(sent.next)?),
        })
    }

    /// Sends all parts again: the server drops an incomplete contribution when it drops the registration.
    pub(super) fn restart_parts(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.next = 0;
        }
    }

    /// The server has received the request in flight. `included_in` is the version of its model that will include the
    /// contribution; `None` if it lacks parts.
    pub(super) fn acknowledge(&mut self, included_in: Option<u64>) {
        let Some(included_in) = included_in else {
            if let Some(sent) = &mut self.sent {
                sent.next += 1;
            }
            return;
        };
        let Some(sent) = self.sent.take() else {
            return;
        };
        let sequence = sent.sequence;
        let mut contribution = sent.merged();
        // The steps were delivered; a repetition only needs to restore the totals.
        contribution.statistics.steps.clear();
        let mut is_joined = false;
        match self.retention {
            // With this retention contributions are held forever, so only totals may be kept.
            Retention::Nothing => contribution.stall_summaries.clear(),
            // Nothing is sent again: they are held for the models until the server's have them.
            Retention::Logged => {
                let models = contribution.models;
                contribution = Contribution {
                    models,
                    ..Contribution::default()
                };
                is_joined = self.held.len() >= MAX_UNSAVED;
            }
            Retention::Process | Retention::Saved => {}
        }
        match self.held.back_mut() {
            Some(last) if last.included_in == included_in || is_joined => {
                last.included_in = included_in;
                last.contribution.merge(contribution);
                bound_stalls(self.is_recorded, &mut last.contribution);
            }
            _ => self.held.push_back(Acknowledged {
                first_sequence: sequence,
                included_in,
                contribution,
            }),
        }
    }

    /// Drops the contribution in flight, which the server will never accept.
    pub(super) fn discard(&mut self) {
        self.sent = None;
    }

    /// Drops what is in the received `version` and, if the server saves, in `saved_version`.
    pub(super) fn settle(&mut self, version: u64, saved_version: u64) {
        let is_done = |held: &Acknowledged| match self.retention {
            Retention::Process | Retention::Logged => held.included_in <= version,
            Retention::Saved => held.included_in <= version.min(saved_version),
            Retention::Nothing => false,
        };
        while self.held.front().is_some_and(is_done) {
            self.held.pop_front();
        }
        if self.retention == Retention::Nothing {
            while self.held.len() > 1 && self.held[1].included_in <= version {
                self.merge_oldest();
            }
        }
    }

    /// Returns true if the server outlives this process.
    pub(super) fn is_server_remote(&self) -> bool {
        self.retention != Retention::Process
    }

    /// Returns true if the server has everything, and has saved it if it saves at all.
    pub(super) fn is_settled(&self) -> bool {
        let is_sent = self.sent.is_none() && self.waiting.is_empty();
        is_sent && (self.held.is_empty() || self.retention != Retention::Saved)
    }

    /// Returns the models of a function that the server's `version` lacks, oldest first.
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
        let sent = self.sent.iter().flat_map(|sent| &sent.parts);
        held.chain(sent.map(|part| &**part))
            .chain([&self.waiting])
            .filter_map(move |contribution| contribution.models.get(&fid))
    }

    /// Returns whether a recorded run is to wait until the server has saved more.
    pub(super) fn is_full(&self) -> bool {
        let held = self.held.iter().map(|held| &held.contribution);
        let sent = self.sent.iter().flat_map(|sent| &sent.parts);
        let all = held.chain(sent.map(|part| &**part)).chain([&self.waiting]);
        let num_entries = |it: &Contribution| -> usize {
            let summaries = it.stall_summaries.values();
            summaries.map(StallSummary::num_entries).sum()
        };
        self.is_recorded && all.map(num_entries).sum::<usize>() >= MAX_RECORDED_ENTRIES
    }

    /// Starts a new epoch with a server that has the contributions up to `last_sequence`; all later ones are queued again.
    pub(super) fn begin_epoch(
        &mut self,
        last_sequence: u64,
        retention: Retention,
        is_recorded: bool,
    ) {
        self.retention = retention;
        self.is_recorded = is_recorded;
        let mut lost = Contribution::default();
        // A log has what it has acknowledged, whether or not the server has read it.
        if retention != Retention::Logged {
            let held = std::mem::take(&mut self.held).into_iter();
            for held in held.filter(|it| it.first_sequence > last_sequence) {
                lost.merge(held.contribution);
            }
        }
        if let Some(sent) = self.sent.take()
            && sent.sequence > last_sequence
        {
            if retention == Retention::Logged {
                // A log may still get it, so it keeps its number.
                self.sent = Some(SentContribution { next: 0, ..sent });
            } else {
                lost.merge(sent.merged());
            }
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
        bound_stalls(self.is_recorded, &mut second.contribution);
    }

    fn bound_waiting(&mut self) {
        self.num_dropped_steps +=
            bound_steps(&mut self.waiting.statistics.steps, MAX_WAITING_STEPS);
        bound_stalls(self.is_recorded, &mut self.waiting);
    }
}

fn bound_stalls(is_recorded: bool, contribution: &mut Contribution) {
    if !is_recorded {
        bound_stall_summaries(&mut contribution.stall_summaries, MAX_STALL_ENTRIES);
    }
}
