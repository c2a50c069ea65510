//! Contributions that a server reads from a log on a message bus. The log has them in the order in which instances wrote
//! them, and keeps them while no server runs.
//!
//! Instances number their contributions, so reading a part of the log twice adds nothing: the position in the log says
//! only where to go on reading, and what the log may forget.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use callgrove_model::{FuncId, ProgramId};

use super::log_progress::LogProgress;
use super::{ServerState, lock};
use crate::contribution::Contribution;
use crate::error::PserverError;
use crate::functions::FunctionRequest;
use crate::model_exchange::Hello;
use crate::protocol::PartNumber;

/// One part of a contribution, as a log has it. The parts of a contribution follow one another without others between.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedPart {
    /// The instance that wrote it.
    pub instance: String,
    /// Which contribution of the instance, and which part of it.
    pub number: PartNumber,
    /// The functions of the contribution under the instance's indices. A server that has given an index to another
    /// function since uses its own.
    pub functions: Vec<(FuncId, ProgramId, String)>,
    /// The data.
    pub contribution: Contribution,
}

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
        let is_fenced = lock(&self.log).fenced.contains(&part.instance);
        let added = if is_fenced {
            Ok(())
        } else {
            self.add_unfenced(part, now_ms)
        };
        // After the data: a state that is saved in between reads the entry again, which adds nothing. The first parts of
        // a contribution are read again with the last one.
        if number.num_left == 0 {
            self.advance_log(position);
        }
        added
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

    /// Returns whether an instance may not register any more.
    pub(super) fn is_fenced(&self, instance: &str) -> bool {
        lock(&self.log).fenced.contains(instance)
    }

    fn add_unfenced(&self, part: LoggedPart, now_ms: u64) -> Result<(), PserverError> {
        let mut contribution = self.with_own_indices(part.functions, part.contribution)?;
        self.check(&contribution)?;
        if self.options.frozen {
            contribution.models.clear();
        }
        if !contribution.statistics.steps.is_empty() {
            self.exchanges.note_report(now_ms);
        }
        let is_full = {
            let mut held = lock(self.partial_state(&part.instance));
            held.add_logged(&part.instance, part.number, contribution, now_ms);
            held.is_full()
        };
        if is_full {
            self.fold();
        }
        Ok(())
    }

    /// Returns the contribution with the indices of this server.
    fn with_own_indices(
        &self,
        functions: Vec<(FuncId, ProgramId, String)>,
        contribution: Contribution,
    ) -> Result<Contribution, PserverError> {
        let table = self.function_table();
        let is_other = |(fid, program, name): &(FuncId, ProgramId, String)| {
            table.get(*fid) != Some((*program, name.as_str()))
        };
        let others: Vec<_> = functions.into_iter().filter(is_other).collect();
        drop(table);
        if others.is_empty() {
            return Ok(contribution);
        }
        let mut table = self
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut own = BTreeMap::new();
        for (fid, program, name) in others {
            let proposed = Some(fid);
            let request = FunctionRequest { name, proposed };
            own.insert(fid, table.resolve(program, &request)?);
        }
        drop(table);
        Ok(contribution.renumbered(|fid| own.get(&fid).copied().unwrap_or(fid)))
    }
}
