//! From what a person types to the forest of a root function.

use std::io::BufRead;
use std::sync::Arc;

use callgrove_ml::forest_file::{self, ForestFileError, ForestFileLimits};
use callgrove_model::{
    DurationNs, Forest, FuncId, FunctionName, FunctionPattern, Progress, Trace, TreeIdx,
};

use crate::LegendEntry;

/// Names offered when a pattern matches nothing.
const NUM_NEAR: usize = 6;

/// Why there is no forest.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RootError {
    /// The trace has no function at all.
    #[error(
        "the trace holds no function events; was the program run with its tracing library switched on?"
    )]
    EmptyTrace,
    /// Nothing was executed often enough to compare executions with each other.
    #[error(
        "no function is executed often enough to compare its executions; name one with --function"
    )]
    NothingToSuggest,
    /// The pattern matches no function.
    #[error("no function matches `{pattern}`; {}", offer(near))]
    NoMatch {
        /// What was asked for.
        pattern: String,
        /// Names that are like it, or else the functions called most.
        near: Vec<String>,
    },
    /// The functions exist, but no execution of them ended.
    #[error(
        "`{pattern}` has no finished execution in this trace ({num_unclosed} never ended); {}",
        offer(near)
    )]
    NeverExecuted {
        /// What was asked for.
        pattern: String,
        /// Executions that never ended.
        num_unclosed: usize,
        /// Functions called most.
        near: Vec<String>,
    },
}

fn offer(near: &[String]) -> String {
    if near.is_empty() {
        "the trace names no function".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

/// Grows the forest of the functions that `pattern` names; the answer names them.
///
/// # Errors
/// [`RootError`], with names to try.
pub fn grow_forest(trace: &Arc<Trace>, pattern: &str) -> Result<(Forest, String), RootError> {
    let functions = Forest::functions_named(trace, &FunctionPattern::new(pattern));
    if functions.is_empty() {
        return Err(RootError::NoMatch {
            pattern: pattern.to_owned(),
            near: near_names(trace, pattern),
        });
    }
    let name = match &functions[..] {
        [function] => FunctionName::parse(trace.names.name(*function))
            .qualified
            .to_owned(),
        _ => pattern.to_owned(),
    };
    let forest = Forest::grow(Arc::clone(trace), &functions);
    if forest.is_empty() {
        return Err(RootError::NeverExecuted {
            pattern: pattern.to_owned(),
            num_unclosed: forest.num_unclosed(),
            near: most_called(trace),
        });
    }
    Ok((forest, name))
}

/// Reads a forest of any trees ([`callgrove_ml::forest_file`] has the format); the answer names its
/// roots. `num_bytes` is the length of the text.
///
/// # Errors
/// [`ForestFileError`], with the line and a remedy.
pub fn read_forest(
    text: impl BufRead,
    num_bytes: u64,
    progress: Progress<'_>,
) -> Result<(Forest, String), ForestFileError> {
    let forest =
        forest_file::read_forest(text, num_bytes, ForestFileLimits::default(), progress)?.forest;
    let name = match forest.functions() {
        [function] => forest.trace().names.name(*function).to_owned(),
        several => format!("{} kinds of roots", several.len()),
    };
    Ok((forest, name))
}

/// The functions of a forest, largest share of exclusive time first.
pub(crate) fn legend(forest: &Forest) -> Vec<LegendEntry> {
    let names = &forest.trace().names;
    let mut totals = vec![(DurationNs::ZERO, 0); names.len()];
    for index in 0..forest.len() {
        let tree = forest.tree(TreeIdx::from_index(index));
        for (func, exclusive) in tree.funcs().iter().zip(tree.exclusive()) {
            let total = &mut totals[func.index()];
            total.0 += *exclusive;
            total.1 += 1;
        }
    }
    let mut legend: Vec<_> = names
        .iter()
        .filter(|(func, _)| totals[func.index()].1 > 0)
        .map(|(func, full)| {
            let name = FunctionName::parse(full);
            let (exclusive, num_calls) = totals[func.index()];
            LegendEntry {
                func,
                name: name.short.to_owned(),
                exclusive,
                num_calls,
                is_mpi: name.is_mpi(),
            }
        })
        .collect();
    legend.sort_by_key(|entry| (std::cmp::Reverse(entry.exclusive), entry.func));
    legend
}

/// The median duration of the trees.
pub(crate) fn median_duration(forest: &Forest) -> DurationNs {
    let mut durations: Vec<_> = (0..forest.len())
        .map(|index| forest.tree(TreeIdx::from_index(index)).duration())
        .collect();
    durations.sort_unstable();
    durations
        .get(durations.len() / 2)
        .copied()
        .unwrap_or_default()
}

fn near_names(trace: &Trace, pattern: &str) -> Vec<String> {
    let wanted = pattern.to_lowercase();
    let last = wanted
        .rsplit("::")
        .next()
        .unwrap_or_default()
        .trim_matches(['*', '?', '(', ')'])
        .to_owned();
    let mut near: Vec<String> = trace
        .names
        .iter()
        .map(|(_, full)| FunctionName::parse(full).qualified)
        .filter(|name| !last.is_empty() && name.to_lowercase().contains(&last))
        .map(str::to_owned)
        .collect();
    let is_near = |name: &str| name.to_lowercase().contains(&wanted);
    near.sort_by_key(|name| (!is_near(name), name.len(), name.clone()));
    near.dedup();
    near.truncate(NUM_NEAR);
    if near.is_empty() {
        most_called(trace)
    } else {
        near
    }
}

fn most_called(trace: &Trace) -> Vec<String> {
    let mut calls: Vec<(usize, FuncId)> = trace.names.iter().map(|(func, _)| (0, func)).collect();
    for func in trace.lanes.iter().flat_map(|lane| &lane.executions.func) {
        calls[func.index()].0 += 1;
    }
    calls.sort_by_key(|&(num_calls, func)| (std::cmp::Reverse(num_calls), func));
    let name = |func| {
        FunctionName::parse(trace.names.name(func))
            .qualified
            .to_owned()
    };
    calls
        .into_iter()
        .filter(|&(num_calls, _)| num_calls > 0)
        .take(NUM_NEAR)
        .map(|(_, func)| name(func))
        .collect()
}
