//! The function indices of an instance, and the server's indices of the same functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{FuncId, MAX_NAME_BYTES, ProgramId};

use crate::contribution::Contribution;
use crate::error::PserverError;
use crate::functions::{FunctionRequest, FunctionTable, check_name};
use crate::protocol::Transport;

/// Approximate maximum size of the names of one request, in bytes.
const MAX_LIST_BYTES: usize = 1 << 20;

/// The functions that the instance has asked for. Its indices equal the server's, except for those that it had to
/// assign itself, and those that a restarted server has given to other functions.
#[derive(Debug, Default)]
pub(super) struct FunctionIndices {
    table: FunctionTable,
    /// Functions that have not been sent to the server yet.
    unannounced: BTreeSet<FuncId>,
    /// The server's index of each function whose index differs there.
    to_server: BTreeMap<FuncId, FuncId>,
    /// The instance's index of each of these functions, by the server's index.
    of_server: BTreeMap<FuncId, FuncId>,
}

impl FunctionIndices {
    /// Returns the indices of the names if all have one.
    pub(super) fn find_all(&self, program: ProgramId, names: &[String]) -> Option<Vec<FuncId>> {
        names
            .iter()
            .map(|name| self.table.find(program, name))
            .collect()
    }

    /// Returns the indices of the names; missing ones are assigned locally.
    pub(super) fn get_all(
        &mut self,
        program: ProgramId,
        names: &[String],
    ) -> Result<Vec<FuncId>, PserverError> {
        names
            .iter()
            .map(|name| {
                check_name("function", name, MAX_NAME_BYTES)?;
                Ok(self.table.find(program, name).unwrap_or_else(|| {
                    let fid = self.assign_local(program, name);
                    self.unannounced.insert(fid);
                    fid
                }))
            })
            .collect()
    }

    /// Requests the server's indices for names that have none yet.
    pub(super) fn ask(
        &mut self,
        transport: &mut impl Transport,
        program: ProgramId,
        names: &[String],
    ) -> Result<(), PserverError> {
        let new_names: BTreeSet<&String> = names
            .iter()
            .filter(|name| self.table.find(program, name).is_none())
            .collect();
        // In the order of first appearance, so that the server's indices follow it.
        let mut requests: Vec<FunctionRequest> = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            if new_names.contains(name) && seen.insert(name) {
                requests.push(FunctionRequest {
                    name: name.clone(),
                    proposed: None,
                });
            }
        }
        for list in lists(&requests) {
            let server_fids = request_indices(transport, program, list)?;
            for (request, server_fid) in list.iter().zip(server_fids) {
                self.adopt(program, &request.name, server_fid);
            }
        }
        Ok(())
    }

    /// Sends the server the names that it lacks, or all of them if its epoch is new.
    pub(super) fn announce(
        &mut self,
        transport: &mut impl Transport,
        all: bool,
    ) -> Result<(), PserverError> {
        if all {
            self.unannounced = self.table.iter().map(|(fid, ..)| fid).collect();
            self.to_server.clear();
            self.of_server.clear();
        }
        let mut by_program: BTreeMap<ProgramId, Vec<FunctionRequest>> = BTreeMap::new();
        for &fid in &self.unannounced {
            if let Some((program, name)) = self.table.get(fid) {
                by_program
                    .entry(program)
                    .or_default()
                    .push(FunctionRequest {
                        name: name.to_owned(),
                        proposed: Some(fid),
                    });
            }
        }
        for (program, requests) in by_program {
            for list in lists(&requests) {
                let server_fids = request_indices(transport, program, list)?;
                for (request, server_fid) in list.iter().zip(server_fids) {
                    if let Some(fid) = request.proposed {
                        self.map(fid, server_fid);
                        self.unannounced.remove(&fid);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the contribution with the server's indices.
    pub(super) fn to_server(&self, contribution: Arc<Contribution>) -> Arc<Contribution> {
        if self.to_server.is_empty() {
            return contribution;
        }
        let renumbered = Arc::unwrap_or_clone(contribution)
            .renumbered(|fid| self.to_server.get(&fid).copied().unwrap_or(fid));
        Arc::new(renumbered)
    }

    /// Returns the instance's index of a function of the server, if it has asked for that function.
    pub(super) fn of_server(&self, server_fid: FuncId) -> Option<FuncId> {
        if let Some(&fid) = self.of_server.get(&server_fid) {
            return Some(fid);
        }
        self.table.get(server_fid)?;
        (!self.to_server.contains_key(&server_fid)).then_some(server_fid)
    }

    /// Uses the server's index of a function for the instance, too, unless it already has another function.
    fn adopt(&mut self, program: ProgramId, name: &str, server_fid: FuncId) {
        if !self.table.insert(server_fid, program, name.to_owned()) {
            // The instance has used this index since before the server was restarted.
            let fid = self.assign_local(program, name);
            self.map(fid, server_fid);
        }
    }

    /// Records the server's index of a function, if it differs from the instance's.
    fn map(&mut self, fid: FuncId, server_fid: FuncId) {
        if fid != server_fid {
            self.to_server.insert(fid, server_fid);
            self.of_server.insert(server_fid, fid);
        }
    }

    fn assign_local(&mut self, program: ProgramId, name: &str) -> FuncId {
        let fid = self.table.free_index(program, name);
        self.table.insert(fid, program, name.to_owned());
        fid
    }
}

/// Splits requests into lists of about [`MAX_LIST_BYTES`] each.
fn lists(requests: &[FunctionRequest]) -> Vec<&[FunctionRequest]> {
    let mut lists = Vec::new();
    let mut rest = requests;
    while !rest.is_empty() {
        let mut num_bytes = 0;
        let num_fitting = rest
            .iter()
            .take_while(|request| {
                num_bytes += request.name.len() + 16;
                num_bytes <= MAX_LIST_BYTES
            })
            .count();
        let (list, others) = rest.split_at(num_fitting.max(1));
        lists.push(list);
        rest = others;
    }
    lists
}

/// Requests the server's indices of functions, in the order of the requests.
fn request_indices(
    transport: &mut impl Transport,
    program: ProgramId,
    requests: &[FunctionRequest],
) -> Result<Vec<FuncId>, PserverError> {
    let fids = transport.functions(program, requests)?;
    if fids.len() != requests.len() {
        return Err(PserverError::Damaged {
            what: "the server's list of function indices",
            cause: format!("{} for {} names", fids.len(), requests.len()),
            remedy: "run the same version of callgrove everywhere",
        });
    }
    Ok(fids)
}
