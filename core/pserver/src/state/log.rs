//! Contributions that a server reads from a log on a message bus. The log has them in the order in which instances wrote
//! them, and keeps them while no server runs.
//!
//! Instances number their contributions, so reading a part of the log twice adds nothing: the position in the log says
//! only where to go on reading, and what the log may forget.
//!
//! Instances of a group write to a log of the group. A [`GroupMerger`](crate::GroupMerger) writes its sums to the log of the server.
//! A sum is of the entries of the group's log between two positions, and counts if the state has all entries before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use callgrove_model::{FuncId, ProgramId};

use super::log_progress::{GroupProgress, LogProgress};
use super::logged_part::{LoggedPart, MergerStart, SumOrigin, group_log_name};
use super::{ServerState, lock};
use crate::contribution::Contribution;
use crate::error::PserverError;
use crate::model_exchange::Hello;

impl ServerState {
    /// Returns the position after which the entries of a log are to be read: 0 for all of them, if the state is not from
    /// this log.
    pub fn begin_log(&self, log: &str) -> u64 {
        let mut progress = lock(&self.log);
        if progress.log != log {
            *progress = LogProgress {
                log: log.to_owned(),
                ..LogProgress::default()
            };
        }
        progress.position
    }

    /// Adds the part at a position of the log, unless it was added before or its instance is fenced.
    ///
    /// # Errors
    /// [`PserverError::Limit`], [`PserverError::MixedModels`]; the contribution is left out then.
    pub fn add_logged(
        &self,
        part: LoggedPart,
        position: u64,
        now_ms: u64,
    ) -> Result<(), PserverError> {
        let number = part.number;
        let sum = part.sum.clone();
        // Held for both data and position: instances add to the models what they have sent after the position, so models
        // with later data would count it twice.
        let mut progress = lock(&self.log);
        let added = if progress.fenced.contains(&part.instance) {
            Ok(false)
        } else {
            self.add_unfenced(part, now_ms)
        };
        // The first parts of a contribution are read again with the last one.
        if number.num_left == 0 {
            if let Some(SumOrigin { group, log, .. }) = sum {
                // Not that of the sum, which may have been left out.
                let position = self.group_position(group, &log);
                let of_group = GroupProgress { log, position };
                progress.groups.insert(group, of_group);
            }
            progress.position = progress.position.max(position);
        }
        drop(progress);
        if added? {
            self.fold();
        }
        Ok(())
    }

    /// Takes what a registration at a position of the log says of the run, for a server that has not seen it itself. It
    /// claims no ranks.
    pub fn add_registration(&self, hello: &Hello, position: u64) {
        let is_valid = self.check_hello(hello).is_ok();
        if is_valid && lock(&self.run).join(&hello.run).is_ok() {
            self.announce(hello);
            self.note_former_ranks(hello);
        }
        self.advance_log(position);
    }

    /// Ends the contributions of an instance, at a position of the log.
    pub fn fence(&self, instance: String, position: u64) {
        self.goodbye(&instance);
        lock(&self.log).fenced.insert(instance);
        self.advance_log(position);
    }

    /// Records that there is nothing to add up to a position.
    pub fn advance_log(&self, position: u64) {
        let mut progress = lock(&self.log);
        progress.position = progress.position.max(position);
    }

    /// Returns the position up to which the entries of a log are saved, so that it need not keep them; 0 if none are.
    pub fn saved_position_of(&self, log: &str) -> u64 {
        let saved = lock(&self.saved_log);
        if saved.log == log { saved.position } else { 0 }
    }

    /// Returns how far the logs of groups are saved, so that they need not keep what is before.
    pub fn saved_groups(&self) -> BTreeMap<u32, GroupProgress> {
        lock(&self.saved_log).groups.clone()
    }

    /// Returns up to which entry of the log of a group the state has everything.
    pub fn group_position(&self, group: u32, log: &str) -> u64 {
        let name = group_log_name(group, log);
        lock(self.partial_state(&name)).last_sequence(&name)
    }

    /// Returns what a merger of the log of a group continues from.
    pub fn merger_start(&self, group: u32, log: &str) -> MergerStart {
        self.fold();
        let mut sequences = lock(&self.global).sequences.clone();
        let members = lock(&self.groups).clone();
        sequences.retain(|instance, _| members.get(instance) == Some(&group));
        MergerStart {
            position: self.group_position(group, log),
            members: sequences,
        }
    }

    /// Records that an instance writes to the log of a group.
    pub fn join_group(&self, instance: &str, group: u32) {
        lock(&self.groups).insert(instance.to_owned(), group);
    }

    /// Returns all groups.
    pub fn groups(&self) -> BTreeSet<u32> {
        lock(&self.groups).values().copied().collect()
    }

    /// Returns the group of an instance, if it has one.
    pub fn group_of(&self, instance: &str) -> Option<u32> {
        lock(&self.groups).get(instance).copied()
    }

    /// Returns whether an instance may not register any more.
    pub(super) fn is_fenced(&self, instance: &str) -> bool {
        lock(&self.log).fenced.contains(instance)
    }

    /// Returns whether the next fold should not wait.
    fn add_unfenced(&self, mut part: LoggedPart, now_ms: u64) -> Result<bool, PserverError> {
        let functions = std::mem::take(&mut part.functions);
        let contribution = std::mem::take(&mut part.contribution);
        let checked = self
            .with_own_indices(functions, contribution)
            .and_then(|it| self.check(&it).map(|()| it));
        let refused = match checked {
            Ok(checked) => {
                part.contribution = checked;
                None
            }
            // Later sums of the group follow this one.
            Err(error) if part.sum.is_some() => Some(error),
            Err(error) => return Err(error),
        };
        if self.options.frozen {
            part.contribution.models.clear();
        }
        if !part.contribution.statistics.steps.is_empty() {
            self.exchanges.note_report(now_ms);
        }
        let is_full = {
            let mut held = lock(self.partial_state(&part.instance));
            held.add_logged(part, now_ms);
            held.is_full()
        };
        refused.map_or(Ok(is_full), Err)
    }

    /// Returns the contribution with the indices of this server.
    fn with_own_indices(
        &self,
        functions: Vec<(FuncId, ProgramId, String)>,
        contribution: Contribution,
    ) -> Result<Contribution, PserverError> {
        let others = self.function_table().unlike(functions);
        if others.is_empty() {
            return Ok(contribution);
        }
        let mut table = self
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        table.renumber(others, contribution)
    }
}
