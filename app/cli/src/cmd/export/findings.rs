//! Findings of a run, for a trace of other programs: the rows of `incidents` and `analyze`.

use std::sync::Arc;

use anyhow::Result;
use callgrove_export::TraceFindings;
use callgrove_headless::{JudgedForest, trace_findings};
use callgrove_model::Trace;
use callgrove_session::{Explainer, RootError};

use crate::cmd::causes::{detect, find as find_causes};
use crate::cmd::forest::forest_in;
use crate::output::{Clock, warn, with_progress};

/// Seed of the learning, which is the default of `analyze`.
const SEED: u64 = 1;
/// Finds the incidents of a run, and the abnormal executions of a function; without one, of the most promising.
pub(super) fn find(
    trace: &Arc<Trace>,
    function: Option<&str>,
    clock: &mut Clock,
) -> Result<TraceFindings> {
    let grown = forest_in(trace, function, clock);
    let forest = match grown {
        Err(error) if function.is_none() && error.is::<RootError>() => {
            warn(&format!("no executions are judged: {error:#}"));
            None
        }
        grown => Some(grown?),
    };
    let causes = find_causes(trace, clock)?;
    let Some((forest, root)) = forest else {
        return Ok(trace_findings(&causes, None));
    };
    let detection = detect(&forest, root, &causes, SEED, clock)?;
    let labels = vec![None; forest.len()];
    let explainer = with_progress("Comparing the trees", |progress| {
        Explainer::new(&forest, &detection, &labels, progress)
    })?;
    clock.lap("explain");
    let judged = JudgedForest {
        forest: &forest,
        detection: &detection,
        explainer: &explainer,
        labels: &labels,
    };
    Ok(trace_findings(&causes, Some(judged)))
}
