//! The changes from an earlier run to the open one, computed once.

use std::sync::Arc;

use callgrove_compare::ALL_INCIDENTS;
use callgrove_model::{Cancelled, FuncId, FunctionName, Progress, RunMatch, TimeNs, Trace};
use callgrove_query::{Calls, ChangeRow, ComparedRun, RunCauses, RunComparison};
use callgrove_trees::MlError;

use super::usual_pair::UsualPair;

/// The refusal of a comparison where the trace is in another process.
pub const COMPARED_ELSEWHERE: &str = "runs are compared where their traces are, and this page has only the answers to \
                                      its questions; use `callgrove compare BEFORE AFTER`, or open the run in a window \
                                      (`callgrove open AFTER`) and compare there";

/// The open run (AFTER) compared with an earlier one (BEFORE).
#[derive(Clone, Debug)]
pub struct ComparedWith {
    source: String,
    before: Arc<Calls>,
    rows: Vec<ChangeRow>,
    possible: Vec<ChangeRow>,
    limits: Vec<String>,
    num_tests: usize,
    num_iterations: Option<[usize; 2]>,
    iteration_starts: [Vec<TimeNs>; 2],
    usual: Option<Result<UsualPair, String>>,
}

impl ComparedWith {
    /// Compares the open run, `after`, with an earlier one from `source`. `known` has the incidents and iterations of the
    /// open run, if they have been found.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn new(
        source: &str,
        [before, after]: [&Arc<Trace>; 2],
        known: Option<ComparedRun>,
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let of_before = ComparedRun::new(before, progress.part(0.0, 0.4))?;
        let of_after = match known {
            Some(known) => known,
            None => ComparedRun::new(after, progress.part(0.4, 0.8))?,
        };
        let sides = [of_before, of_after];
        let comparison = RunComparison::of_runs(&sides[0], &sides[1], progress.part(0.8, 1.0))?;
        let mut limits = comparison.limits();
        if before.identity.compare(&after.identity) == RunMatch::Same {
            limits.push("BEFORE and AFTER are the same run".to_owned());
        }
        Ok(Self {
            source: source.to_owned(),
            before: Arc::new(Calls::local(before)),
            rows: comparison.rows(),
            possible: comparison.possible_rows(),
            limits,
            num_tests: comparison.comparison().num_tests,
            num_iterations: comparison.num_iterations(),
            usual: None,
            iteration_starts: sides.map(|side| side.iteration_starts()),
        })
    }

    /// Returns the same comparison with the usual executions of a root function of the open run.
    ///
    /// # Errors
    /// Cancelled.
    pub fn with_root(
        &self,
        root: &str,
        after: &Arc<Trace>,
        progress: Progress<'_>,
    ) -> Result<Self, MlError> {
        let usual = UsualPair::new(root, [self.before.trace(), after], progress)?;
        Ok(Self {
            usual: Some(usual),
            ..self.clone()
        })
    }

    /// Returns the usual executions of the root function in both runs, or the reason why one run has none; `None`
    /// without a root function.
    pub fn usual(&self) -> Option<Result<&UsualPair, &str>> {
        let usual = self.usual.as_ref()?;
        Some(usual.as_ref().map_err(String::as_str))
    }

    /// Returns whether both are the same comparison, perhaps with different root functions.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.before, &other.before)
    }

    /// Returns the source of BEFORE as the user named it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the calls of BEFORE.
    pub fn before(&self) -> &Arc<Calls> {
        &self.before
    }

    /// Returns the changes, the largest cost or gain first.
    pub fn rows(&self) -> &[ChangeRow] {
        &self.rows
    }

    /// Returns the changes that may be chance, in the same order.
    pub fn possible_rows(&self) -> &[ChangeRow] {
        &self.possible
    }

    /// Returns one sentence about each fact that limits the comparison.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Returns the number of quantities that were compared.
    pub fn num_tests(&self) -> usize {
        self.num_tests
    }

    /// Returns the number of iterations of each side that were compared, BEFORE first; `None` if a side has none.
    pub fn num_iterations(&self) -> Option<[usize; 2]> {
        self.num_iterations
    }

    /// Returns the start of each iteration on its first rank, BEFORE first; empty for a run without iterations.
    pub fn iteration_starts(&self) -> &[Vec<TimeNs>; 2] {
        &self.iteration_starts
    }

    /// Returns the function of a run that a change is about; `None` if the run lacks it, or the change is not about
    /// a function.
    pub fn function(row: &ChangeRow, run: &Trace) -> Option<FuncId> {
        if !matches!(row.kind, "function" | "path" | "structure") {
            return None;
        }
        let mut names = run.names.iter();
        names
            .find(|(_, name)| FunctionName::parse(name).short == row.function)
            .map(|(func, _)| func)
    }

    /// Returns the costliest incident of a run that a change of incidents is about, as an index into
    /// [`RunCauses::incidents`].
    pub fn incident(row: &ChangeRow, causes: &RunCauses) -> Option<usize> {
        if row.kind != "incidents" {
            return None;
        }
        let mut all = causes.incidents().iter();
        all.position(|it| row.function == ALL_INCIDENTS || it.kind.to_string() == row.function)
    }
}
