//! Runs in which all is well, in one file: what later runs are compared with.

use callgrove_compare::SampledRun;
use callgrove_model::{DurationNs, RunIdentity};
use callgrove_query::ComparedRun;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The begin of the file, with the version of what follows.
const MAGIC: &[u8] = b"callgrove baseline 1\n";

/// The runs of a file, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct RunBaseline {
    runs: Vec<BaselineRun>,
}

/// A run of a baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaselineRun {
    /// Seconds from 1970 to when it was added.
    pub added_s: u64,
    /// The commit that it is of, if it is known.
    pub commit: Option<String>,
    /// The source that it was read from.
    pub source: String,
    /// The run as text: program, hosts, start.
    pub name: String,
    /// The hosts of its ranks, as far as they are known.
    pub hosts: Vec<String>,
    /// The samples.
    pub run: SampledRun,
}

/// A run of a baseline as a row of a table. Times are in microseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BaselineRow {
    /// When it was added, from 1970.
    pub added_us: i64,
    /// The commit that it is of, if it is known.
    pub commit: Option<String>,
    /// Program, hosts and start, as far as they are known.
    pub run: String,
    /// The hosts, separated by spaces.
    pub hosts: String,
    /// Number of ranks.
    pub num_ranks: usize,
    /// Number of iterations; 0 without a loop of time steps.
    pub num_iterations: usize,
    /// The typical duration of an iteration.
    pub iteration_us: Option<i64>,
    /// The source that it was read from.
    pub source: String,
}

/// Why bytes are no baseline.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BaselineError {
    /// Something else, or of another version.
    #[error(
        "this is no file of `callgrove baseline`, or one of another version: remove it, and add the runs again"
    )]
    Foreign,
    /// It is damaged.
    #[error("the file is damaged ({0}): remove it, and add the runs again")]
    Damaged(String),
}

impl RunBaseline {
    /// Returns whether a file that begins with these bytes is a baseline, perhaps of another version.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(b"callgrove baseline ")
    }

    /// Returns the runs of a file.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BaselineError> {
        let runs = bytes.strip_prefix(MAGIC).ok_or(BaselineError::Foreign)?;
        let runs = rmp_serde::from_slice(runs);
        let runs = runs.map_err(|error| BaselineError::Damaged(error.to_string()))?;
        Ok(Self { runs })
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// [`BaselineError::Damaged`], which does not happen with runs that were read.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BaselineError> {
        let mut bytes = MAGIC.to_vec();
        rmp_serde::encode::write(&mut bytes, &self.runs)
            .map_err(|error| BaselineError::Damaged(error.to_string()))?;
        Ok(bytes)
    }

    /// Adds a run, and removes the oldest ones beyond `keep`.
    pub fn add(&mut self, run: BaselineRun, keep: usize) {
        self.runs.push(run);
        let num_old = self.runs.len().saturating_sub(keep.max(1));
        self.runs.drain(..num_old);
    }

    /// Returns the runs, the oldest first.
    pub fn runs(&self) -> &[BaselineRun] {
        &self.runs
    }

    /// Returns the runs as rows, in the same order.
    pub fn rows(&self) -> Vec<BaselineRow> {
        let row = |it: &BaselineRun| BaselineRow {
            added_us: i64::try_from(it.added_s)
                .unwrap_or(0)
                .saturating_mul(1_000_000),
            commit: it.commit.clone(),
            run: it.name.clone(),
            hosts: it.hosts.join(" "),
            num_ranks: it.run.num_ranks(),
            num_iterations: it.run.num_iterations(),
            iteration_us: it.run.iteration().map(DurationNs::as_us),
            source: it.source.clone(),
        };
        self.runs.iter().map(row).collect()
    }
}

impl BaselineRun {
    /// Returns a run of which the samples were taken.
    pub fn new(source: &str, of: &ComparedRun, run: &SampledRun) -> Self {
        let identity: &RunIdentity = &of.causes().trace().identity;
        let hosts = identity.hosts().into_iter().map(str::to_owned);
        Self {
            added_s: 0,
            commit: None,
            source: source.to_owned(),
            name: identity.to_string(),
            hosts: hosts.collect(),
            run: run.condensed(),
        }
    }
}
