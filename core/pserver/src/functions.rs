//! The table of functions: a global index for each name of each program.

use std::collections::BTreeMap;

use callgrove_incidents::FunctionNames;
use callgrove_model::{FuncId, MAX_NAME_BYTES, ProgramId, fnv1a};

use crate::contribution::Contribution;
use crate::error::PserverError;

/// Maximum total size of all function names in bytes.
const MAX_NAMES_BYTES: usize = 512 << 20;
/// Maximum number of functions of a run.
pub const MAX_FUNCTIONS: usize = 1 << 20;

/// The largest index; all fit into a signed 32-bit integer, as which other programs read them.
const LAST_FID: u32 = u32::MAX >> 1;

/// Functions by global index and by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTable {
    by_fid: BTreeMap<FuncId, (ProgramId, String)>,
    by_name: BTreeMap<ProgramId, BTreeMap<String, FuncId>>,
    names_bytes_count: usize,
}

/// A request for the index of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRequest {
    /// Name.
    pub name: String,
    /// The index that the instance already uses. The server adopts it if it can, so that indices survive a restart of
    /// the server even if its state was lost.
    pub proposed: Option<FuncId>,
}

impl FunctionTable {
    /// Returns the index of a function, and assigns one if needed.
    ///
    /// # Errors
    /// [`PserverError::Limit`] for a name over [`MAX_NAME_BYTES`], a function over [`MAX_FUNCTIONS`], or too much text.
    pub fn resolve(
        &mut self,
        program: ProgramId,
        request: &FunctionRequest,
    ) -> Result<FuncId, PserverError> {
        if let Some(fid) = self.find(program, &request.name) {
            return Ok(fid);
        }
        check_name("function", &request.name, MAX_NAME_BYTES)?;
        let too_much = |what: &str, limit| PserverError::Limit {
            what: format!("function {} brings {what}", request.name),
            limit,
            remedy: "instrument fewer functions",
        };
        if self.by_fid.len() >= MAX_FUNCTIONS {
            return Err(too_much("the number of functions", MAX_FUNCTIONS));
        }
        if self.names_bytes_count + request.name.len() > MAX_NAMES_BYTES {
            return Err(too_much("the total size of names", MAX_NAMES_BYTES));
        }
        let fid = match request.proposed {
            Some(fid) if !self.by_fid.contains_key(&fid) => fid,
            _ => self.free_index(program, &request.name),
        };
        self.insert(fid, program, request.name.clone());
        Ok(fid)
    }

    /// Returns the index of a function, if it has one.
    pub fn find(&self, program: ProgramId, name: &str) -> Option<FuncId> {
        self.by_name.get(&program)?.get(name).copied()
    }

    /// Returns program and name of a function.
    pub fn get(&self, fid: FuncId) -> Option<(ProgramId, &str)> {
        self.by_fid
            .get(&fid)
            .map(|(program, name)| (*program, name.as_str()))
    }

    /// Returns those of the functions that have another index here, or none.
    pub(crate) fn unlike(
        &self,
        functions: Vec<(FuncId, ProgramId, String)>,
    ) -> Vec<(FuncId, ProgramId, String)> {
        let is_other = |(fid, program, name): &(FuncId, ProgramId, String)| {
            self.get(*fid) != Some((*program, name.as_str()))
        };
        functions.into_iter().filter(is_other).collect()
    }

    /// Returns the contribution with the indices of this table for functions that have others in it.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub(crate) fn renumber(
        &mut self,
        others: Vec<(FuncId, ProgramId, String)>,
        contribution: Contribution,
    ) -> Result<Contribution, PserverError> {
        let mut own = BTreeMap::new();
        for (fid, program, name) in others {
            let proposed = Some(fid);
            let request = FunctionRequest { name, proposed };
            own.insert(fid, self.resolve(program, &request)?);
        }
        if own.iter().all(|(fid, own)| fid == own) {
            return Ok(contribution);
        }
        Ok(contribution.renumbered(|fid| own.get(&fid).copied().unwrap_or(fid)))
    }

    /// Returns all functions, ordered by index.
    pub fn iter(&self) -> impl Iterator<Item = (FuncId, ProgramId, &str)> {
        self.by_fid
            .iter()
            .map(|(&fid, (program, name))| (fid, *program, name.as_str()))
    }

    /// Inserts a function with a given index, for example from a saved state; `false` if index or name is taken.
    pub fn insert(&mut self, fid: FuncId, program: ProgramId, name: String) -> bool {
        if self.by_fid.contains_key(&fid) || self.find(program, &name).is_some() {
            return false;
        }
        self.by_name
            .entry(program)
            .or_default()
            .insert(name.clone(), fid);
        self.names_bytes_count += name.len();
        self.by_fid.insert(fid, (program, name));
        true
    }

    /// Returns the index for a new function: an FNV-1a hash of program and name, so that every run and every instance
    /// computes the same one without communication. On a collision it is the next free index.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a truncated hash is still a hash"
    )]
    pub(crate) fn free_index(&self, program: ProgramId, name: &str) -> FuncId {
        let mut bytes = program.0.to_le_bytes().to_vec();
        bytes.extend_from_slice(name.as_bytes());
        let mut fid = FuncId(fnv1a(&bytes) as u32 >> 1);
        while self.by_fid.contains_key(&fid) {
            fid = FuncId((fid.0 + 1) & LAST_FID);
        }
        fid
    }
}

impl FunctionNames for FunctionTable {
    fn name(&self, fid: FuncId) -> &str {
        self.get(fid).map_or("", |(_, name)| name)
    }
}

/// Returns an error if a name is too long.
///
/// # Errors
/// [`PserverError::Limit`].
pub(crate) fn check_name(kind: &str, name: &str, max_bytes: usize) -> Result<(), PserverError> {
    if name.len() <= max_bytes {
        return Ok(());
    }
    let start: String = name.chars().take(80).collect();
    Err(PserverError::Limit {
        what: format!("the name of {kind} {start}… is {} bytes", name.len()),
        limit: max_bytes,
        remedy: "shorten it",
    })
}
