//! One partial state, and the instances that add to it.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_incidents::StallSummary;

use super::logged_part::{LoggedPart, SumOrigin};
use crate::contribution::Contribution;
use crate::error::PserverError;
use crate::protocol::{LEASE_MS, PartNumber};
use crate::statistics::{RankKey, bound_steps};

/// Maximum number of steps that wait for the next fold.
const MAX_WAITING_STEPS: usize = 1 << 16;
/// The last sequence number of an instance in a group whose later contributions do not count.
const FENCED: u64 = u64::MAX;
/// Number of stalls and messages at which the next fold does not wait.
const MAX_WAITING_STALL_ENTRIES: usize = 1 << 17;

/// A partial state behind a lock of its own.
#[derive(Debug, Default)]
pub(super) struct PartialState {
    partial: Contribution,
    /// How many times the partial state was taken; in step with the global version.
    version: u64,
    registrations: BTreeMap<String, Registration>,
}

/// The registration of one instance, and its last counted request.
#[derive(Clone, Debug, Default)]
pub(super) struct Registration {
    /// Its ranks; empty after it has left or others took them.
    pub(super) ranks: BTreeSet<RankKey>,
    /// True if it may add data: it registered in this epoch, has not signed off, and kept its ranks.
    pub(super) registered: bool,
    /// True if it ever registered in this epoch of the server.
    pub(super) was_registered: bool,
    last_seen_ms: u64,
    last_sequence: u64,
    last_included_in: u64,
    /// The parts so far of a contribution that is not complete.
    incomplete: IncompleteContribution,
    /// Of a group: the last contribution of each instance that is in its sums.
    members: BTreeMap<String, u64>,
}

/// The first parts of a contribution.
#[derive(Clone, Debug, Default)]
struct IncompleteContribution {
    sequence: u64,
    num_parts: u32,
    content: Contribution,
}

impl IncompleteContribution {
    /// Adds a part unless it was added before. Returns whether no part is missing before it.
    fn add(&mut self, number: PartNumber, part: Contribution) -> bool {
        if number.index == 0 && number.sequence != self.sequence {
            *self = Self {
                sequence: number.sequence,
                num_parts: 1,
                content: part,
            };
        } else if number.sequence == self.sequence && number.index == self.num_parts {
            self.num_parts += 1;
            self.content.merge(part);
        }
        number.sequence == self.sequence && number.index < self.num_parts
    }
}

impl Registration {
    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.registered && self.silent_ms(now_ms) <= LEASE_MS
    }

    pub(super) fn silent_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.last_seen_ms)
    }

    /// Takes the contribution of which no part is missing; it will be in `version`.
    fn complete(&mut self, sequence: u64, version: u64) -> Contribution {
        self.last_sequence = sequence;
        self.last_included_in = version;
        std::mem::take(&mut self.incomplete).content
    }
}

impl PartialState {
    /// Adds a part of a contribution unless the contribution was added before; it is merged with its last part. Returns
    /// the version that will include it, or `None` if parts are missing.
    pub(super) fn add(
        &mut self,
        instance: &str,
        number: PartNumber,
        part: Contribution,
        now_ms: u64,
    ) -> Result<Option<u64>, PserverError> {
        let version = self.version;
        let registration = self.registered(instance)?;
        registration.last_seen_ms = now_ms;
        if number.sequence <= registration.last_sequence {
            return Ok(Some(registration.last_included_in));
        }
        for (program, rank) in part.rank_keys() {
            if !registration.ranks.contains(&(program, rank)) {
                return Err(PserverError::ForeignRank {
                    instance: instance.to_owned(),
                    program,
                    rank,
                });
            }
        }
        if !registration.incomplete.add(number, part) {
            return Err(PserverError::NotRegistered {
                instance: instance.to_owned(),
            });
        }
        if number.num_left > 0 {
            return Ok(None);
        }
        let complete = registration.complete(number.sequence, version + 1);
        self.merge(complete);
        Ok(Some(version + 1))
    }

    /// Adds a part that a log has, unless the contribution was added before: its ranks were claimed when it was written.
    /// A sum is added if it follows what the state has of its group: of two mergers that have read the same entries, the
    /// first counts.
    pub(super) fn add_logged(&mut self, part: LoggedPart, now_ms: u64) {
        let version = self.version;
        let number = part.number;
        let registration = match self.registrations.get_mut(&part.instance) {
            Some(registration) => registration,
            None => self.registrations.entry(part.instance).or_default(),
        };
        registration.last_seen_ms = now_ms;
        let last = registration.last_sequence;
        let follows = |of: &SumOrigin| last == 0 || of.after == last;
        let is_new = number.sequence > last && part.sum.as_ref().is_none_or(follows);
        if is_new && registration.incomplete.add(number, part.contribution) && number.num_left == 0
        {
            let complete = registration.complete(number.sequence, version + 1);
            registration
                .members
                .extend(part.sum.into_iter().flat_map(|it| it.members));
            self.merge(complete);
        }
    }

    fn merge(&mut self, complete: Contribution) {
        self.partial.merge(complete);
        bound_steps(&mut self.partial.statistics.steps, MAX_WAITING_STEPS);
    }

    /// Returns whether it is to be folded at once.
    pub(super) fn is_full(&self) -> bool {
        let summaries = self.partial.stall_summaries.values();
        summaries.map(StallSummary::weight).sum::<usize>() >= MAX_WAITING_STALL_ENTRIES
    }

    /// Records a heartbeat.
    pub(super) fn touch(&mut self, instance: &str, now_ms: u64) -> Result<(), PserverError> {
        self.registered(instance)?.last_seen_ms = now_ms;
        Ok(())
    }

    /// Takes the partial state for `version`, and records which requests are in it.
    pub(super) fn take(
        &mut self,
        version: u64,
        sequences: &mut BTreeMap<String, u64>,
    ) -> Contribution {
        self.version = version;
        for (instance, registration) in &mut self.registrations {
            note_sequence(sequences, instance, registration.last_sequence);
            for (member, sequence) in std::mem::take(&mut registration.members) {
                note_sequence(sequences, &member, sequence);
            }
        }
        std::mem::take(&mut self.partial)
    }

    /// Registers an instance; returns its last sequence number.
    pub(super) fn register(
        &mut self,
        instance: &str,
        ranks: BTreeSet<RankKey>,
        now_ms: u64,
    ) -> u64 {
        let registration = self.registrations.entry(instance.to_owned()).or_default();
        registration.ranks = ranks;
        registration.registered = true;
        registration.was_registered = true;
        registration.last_seen_ms = now_ms;
        registration.last_sequence
    }

    /// Leaves out all later contributions of an instance.
    pub(super) fn fence(&mut self, instance: String) {
        let registration = self.registrations.entry(instance).or_default();
        registration.last_sequence = FENCED;
        registration.incomplete = IncompleteContribution::default();
    }

    /// Starts with an empty partial state that follows `version`.
    pub(super) fn start_at(&mut self, version: u64) {
        self.version = version;
    }

    /// Restores the last sequence number of an instance of an earlier epoch, which is included in `version`.
    pub(super) fn restore(&mut self, instance: String, last_sequence: u64, version: u64) {
        let registration = Registration {
            last_sequence,
            last_included_in: version,
            ..Registration::default()
        };
        self.registrations.insert(instance, registration);
    }

    pub(super) fn registration(&self, instance: &str) -> Option<&Registration> {
        self.registrations.get(instance)
    }

    pub(super) fn registrations(&self) -> impl Iterator<Item = &Registration> {
        self.registrations.values()
    }

    /// Ends the registration of an instance; returns its ranks.
    pub(super) fn leave(&mut self, instance: &str) -> BTreeSet<RankKey> {
        let Some(registration) = self.registrations.get_mut(instance) else {
            return BTreeSet::new();
        };
        registration.registered = false;
        registration.incomplete = IncompleteContribution::default();
        std::mem::take(&mut registration.ranks)
    }

    /// Returns the last sequence number of an instance, or of a group, or 0.
    pub(super) fn last_sequence(&self, instance: &str) -> u64 {
        let registration = self.registrations.get(instance);
        registration.map_or(0, |it| it.last_sequence)
    }

    fn registered(&mut self, instance: &str) -> Result<&mut Registration, PserverError> {
        self.registrations
            .get_mut(instance)
            .filter(|registration| registration.registered)
            .ok_or_else(|| PserverError::NotRegistered {
                instance: instance.to_owned(),
            })
    }
}

/// Records the last request of an instance that is included. Another partial state may have a later one: that of its group.
fn note_sequence(sequences: &mut BTreeMap<String, u64>, instance: &str, sequence: u64) {
    match sequences.get_mut(instance) {
        Some(last) => *last = sequence.max(*last),
        None => {
            sequences.insert(instance.to_owned(), sequence);
        }
    }
}
