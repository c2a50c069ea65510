//! The forest of a subcommand: of a function of a trace, or of a file with trees.

use std::sync::Arc;

use anyhow::{Result, bail};
use callgrove_model::{Forest, Trace};
use callgrove_session::{RootError, forest_of_trees, grow_forest, suggest_roots};

use crate::host::read_trace;
use crate::output::{Clock, print_damage, warn, with_progress};
use callgrove_args::PartOfRun;

/// Reads `source` and returns the forest of `function`, or of the most promising function, and the name of the root
/// function. With `part`, only the executions in that part of the run.
pub(super) fn forest_of(
    source: &str,
    function: Option<&str>,
    part: Option<PartOfRun>,
    clock: &mut Clock,
) -> Result<(Forest, String)> {
    let (forest, root) = whole_forest_of(source, function, clock)?;
    let Some(part) = part else {
        return Ok((forest, root));
    };
    let part = part.of(&forest);
    if part.is_empty() {
        bail!(
            "none of the {} executions is entered in that part of the run",
            forest.len()
        );
    }
    Ok((part, root))
}

fn whole_forest_of(
    source: &str,
    function: Option<&str>,
    clock: &mut Clock,
) -> Result<(Forest, String)> {
    let trace = read(source, clock)?;
    if trace.is_forest {
        if function.is_some() {
            bail!("--function selects trees of a trace; a forest file contains only its own trees");
        }
        return Ok(forest_of_trees(trace));
    }
    forest_in(&trace, function, clock)
}

/// Returns the forest of `function` in a trace, or of the most promising function, and the name of the root function.
pub(super) fn forest_in(
    trace: &Arc<Trace>,
    function: Option<&str>,
    clock: &mut Clock,
) -> Result<(Forest, String)> {
    let root = match function {
        Some(function) => function.to_owned(),
        None => best_root(trace)?,
    };
    let grown = grow_forest(trace, &root)?;
    clock.lap("grow");
    Ok(grown)
}

/// Reads the trace of a run, and prints its damage on standard error. Trees that belong to no run are refused.
pub(super) fn trace_of(source: &str, clock: &mut Clock) -> Result<Arc<Trace>> {
    let trace = read(source, clock)?;
    if trace.is_forest {
        bail!(
            "{source} holds trees, which belong to no run and have no messages; this needs a trace"
        );
    }
    Ok(trace)
}

fn read(source: &str, clock: &mut Clock) -> Result<Arc<Trace>> {
    let trace = with_progress("Reading the trace", |progress| read_trace(source, progress))?;
    print_damage(&trace.warnings);
    clock.lap("read");
    Ok(Arc::new(trace))
}

/// Returns the most promising root function, and prints its name on standard error.
fn best_root(trace: &Trace) -> Result<String> {
    if trace.num_executions() == 0 {
        return Err(RootError::EmptyTrace.into());
    }
    let best = suggest_roots(trace)
        .into_iter()
        .next()
        .ok_or(RootError::NothingToSuggest)?;
    warn(&format!("no --function given; using {}", best.name));
    Ok(best.name)
}
