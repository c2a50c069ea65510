//! Adds up the contributions of a group of instances, so that a server gets one sum instead of all of them.
//!
//! ```text
//! instances of group 0 ─ log of group 0 ─ GroupMerger ─┐
//! instances of group 1 ─ log of group 1 ─ GroupMerger ─┼─ log of the server ─ ServerState
//! instances without a group ──────────────────────┘
//! ```
//!
//! A merger has no state of its own that could be lost: the server counts which entries of the group's log are in its
//! sums, and saves this with them. A merger that starts, or whose sum was refused, continues after these entries.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, ProgramId};

use super::logged_part::{LoggedPart, MergerStart, SumOrigin, group_log_name};
use super::partial::PartialState;
use crate::contribution::{Contribution, ModelKind};
use crate::error::PserverError;
use crate::functions::FunctionTable;
use crate::protocol::PartNumber;

/// Adds up what the log of a group has.
#[derive(Debug, Default)]
pub struct GroupMerger {
    group: u32,
    /// Identifies the log of the group.
    log: String,
    functions: FunctionTable,
    model_kind: ModelKind,
    held: PartialState,
    /// The last contribution of each instance in the sums so far.
    members: BTreeMap<String, u64>,
    /// The sums so far are of the entries up to this one.
    after: u64,
    /// The last entry that was read with all before it.
    position: u64,
}

/// The sum of the contributions that the log of a group has between two positions.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSum {
    /// What it is of.
    pub origin: SumOrigin,
    /// The entry of the group's log with which the sum ends.
    pub position: u64,
    /// The sum.
    pub contribution: Contribution,
}

impl GroupMerger {
    /// Begins with the entry of a group's log after that of `start`.
    pub fn new(group: u32, log: &str, start: MergerStart) -> Self {
        let mut held = PartialState::default();
        for (instance, &sequence) in &start.members {
            held.restore(instance.clone(), sequence, 0);
        }
        Self {
            group,
            log: log.to_owned(),
            held,
            members: start.members,
            after: start.position,
            position: start.position,
            ..Self::default()
        }
    }

    /// Adds the part at a position of the log, unless it was added before or its instance was fenced before.
    ///
    /// # Errors
    /// [`PserverError::Limit`], [`PserverError::MixedModels`]; the contribution is left out then.
    pub fn add(&mut self, part: LoggedPart, position: u64) -> Result<(), PserverError> {
        let is_last = part.number.num_left == 0;
        let added = self.add_part(part);
        if is_last {
            self.advance(position);
        }
        added
    }

    /// Ends the contributions of an instance, at a position of the log.
    pub fn fence(&mut self, instance: String, position: u64) {
        self.held.fence(instance);
        self.advance(position);
    }

    /// Records that there is nothing to add up to a position.
    pub fn advance(&mut self, position: u64) {
        self.position = self.position.max(position);
    }

    /// Returns the last entry that was read with all before it.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the last entry of the sums so far.
    pub fn taken(&self) -> u64 {
        self.after
    }

    /// Returns whether the next sum should not wait.
    pub fn is_full(&self) -> bool {
        self.held.is_full()
    }

    /// Returns name and program of a function of the sums.
    pub fn function(&self, fid: FuncId) -> Option<(ProgramId, &str)> {
        self.functions.get(fid)
    }

    /// Takes the sum since the previous one; `None` if nothing was read.
    pub fn take(&mut self) -> Option<GroupSum> {
        if self.position == self.after {
            return None;
        }
        let mut members = BTreeMap::new();
        let contribution = self.held.take(0, &mut members);
        members.retain(|instance, sequence| self.members.get(instance) != Some(sequence));
        self.members.extend(members.clone());
        let origin = SumOrigin {
            group: self.group,
            log: self.log.clone(),
            after: self.after,
            members: members.into_iter().collect(),
        };
        self.after = self.position;
        Some(GroupSum {
            origin,
            position: self.position,
            contribution,
        })
    }

    fn add_part(&mut self, mut part: LoggedPart) -> Result<(), PserverError> {
        self.model_kind.check(part.contribution.models.values())?;
        let functions = std::mem::take(&mut part.functions);
        let others = self.functions.unlike(functions);
        part.contribution = self.functions.renumber(others, part.contribution)?;
        let mut fids = part.contribution.fids();
        if let Some(fid) = fids.find(|&fid| self.functions.get(fid).is_none()) {
            return Err(PserverError::UnknownFunction { fid });
        }
        drop(fids);
        self.held.add_logged(part, 0);
        Ok(())
    }
}

impl GroupSum {
    /// Returns the name under which the server counts the sums of the group.
    pub fn name(&self) -> String {
        group_log_name(self.origin.group, &self.origin.log)
    }

    /// Returns the parts of the sum, each of at most about `max_bytes` on the wire.
    pub fn into_parts(self, max_bytes: usize) -> Vec<(PartNumber, Contribution)> {
        let sequence = self.position;
        let parts = self.contribution.into_parts(max_bytes);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let last = count(parts.len().saturating_sub(1));
        let parts = parts.into_iter().zip(0..);
        parts
            .map(|(part, index)| {
                let num_left = last - index;
                let number = PartNumber {
                    sequence,
                    index,
                    num_left,
                };
                (number, part)
            })
            .collect()
    }
}
