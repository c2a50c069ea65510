//! The forest that a subcommand works on: of a function of a trace, or of a file that holds trees.

use std::sync::Arc;

use anyhow::{Result, bail};
use callgrove_model::{Forest, Trace};
use callgrove_session::{RootError, grow_forest, suggest_roots};

use crate::args::Part;
use crate::host::{is_forest_file, read_forest_file, read_trace};
use crate::output::{Clock, complain, tell_damage, with_progress};

/// Reads `source` and grows the forest of `function`, or of the most promising one; the answer names
/// the root function. Of these executions those in `part` of the run, if any is asked for.
pub(super) fn forest_of(
    source: &str,
    function: Option<&str>,
    part: Option<Part>,
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
    if is_forest_file(source) {
        if function.is_some() {
            bail!("--function picks trees out of a trace; a forest file holds its trees already");
        }
        let read = with_progress("Reading the trees", |progress| {
            read_forest_file(source, progress)
        })?;
        clock.lap("read");
        return Ok(read);
    }
    let trace = trace_of(source, clock)?;
    let root = match function {
        Some(function) => function.to_owned(),
        None => best_root(&trace)?,
    };
    let grown = grow_forest(&trace, &root)?;
    clock.lap("grow");
    Ok(grown)
}

/// Reads a trace, and says on standard error what is damaged in it.
pub(super) fn trace_of(source: &str, clock: &mut Clock) -> Result<Arc<Trace>> {
    let trace = with_progress("Reading the trace", |progress| read_trace(source, progress))?;
    tell_damage(&trace.warnings);
    clock.lap("read");
    Ok(Arc::new(trace))
}

/// The most promising root function, which is told on standard error.
fn best_root(trace: &Trace) -> Result<String> {
    if trace.num_executions() == 0 {
        return Err(RootError::EmptyTrace.into());
    }
    let best = suggest_roots(trace)
        .into_iter()
        .next()
        .ok_or(RootError::NothingToSuggest)?;
    complain(&format!("no --function given; taking {}", best.name));
    Ok(best.name)
}
