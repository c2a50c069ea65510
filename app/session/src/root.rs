//! Finds the root functions that a user's text names, and grows their forest.

use std::sync::Arc;

use callgrove_model::{DurationNs, Forest, FuncId, FunctionName, FunctionPattern, Trace, TreeIdx};

/// Largest number of names that are suggested when a pattern matches nothing.
const MAX_SUGGESTED_NAMES: usize = 6;

/// An error that prevents growing a forest.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RootError {
    /// The trace has no functions.
    #[error(
        "the trace holds no function events; was the program run with its tracing library switched on?"
    )]
    EmptyTrace,
    /// No function is executed often enough to compare its executions.
    #[error(
        "no function is executed often enough to compare its executions; name one with --function"
    )]
    NothingToSuggest,
    /// The pattern matches no function.
    #[error("no function matches `{pattern}`; {}", hint(similar, most_called))]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// Similar names.
        similar: Vec<String>,
        /// The most called functions.
        most_called: Vec<String>,
    },
    /// The functions exist, but none of their executions ended.
    #[error(
        "`{pattern}` has no finished execution in this trace ({num_unclosed} never ended); {}",
        hint(&[], most_called)
    )]
    NeverExecuted {
        /// The pattern.
        pattern: String,
        /// Number of executions that never ended.
        num_unclosed: usize,
        /// The most called functions.
        most_called: Vec<String>,
    },
}

fn hint(similar: &[String], most_called: &[String]) -> String {
    match (similar, most_called) {
        ([], []) => "the trace names no function".to_owned(),
        ([], most) => format!("functions called most are {}", most.join(", ")),
        (similar, _) => format!("did you mean {}?", similar.join(", ")),
    }
}

/// Grows the forest of the functions that `pattern` names. Returns it with their name.
///
/// # Errors
/// [`RootError`], with names to try.
pub fn grow_forest(trace: &Arc<Trace>, pattern: &str) -> Result<(Forest, String), RootError> {
    let functions = Forest::functions_named(trace, &FunctionPattern::new(pattern));
    if functions.is_empty() {
        return Err(RootError::NoMatch {
            pattern: pattern.to_owned(),
            similar: similar_names(trace, pattern),
            most_called: most_called(trace),
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
            most_called: most_called(trace),
        });
    }
    Ok((forest, name))
}

/// Returns the forest of a trace that consists of trees ([`Trace::is_forest`]), with a name for their roots.
pub fn forest_of_trees(trace: Arc<Trace>) -> (Forest, String) {
    let forest = Forest::of_outermost(trace);
    let name = match forest.functions() {
        [function] => forest.trace().names.name(*function).to_owned(),
        several => format!("{} kinds of roots", several.len()),
    };
    (forest, name)
}

/// Returns the function of the roots of a trace that consists of trees, if they share one.
pub(crate) fn root_of_trees(trace: &Arc<Trace>) -> Option<String> {
    let trace = trace.is_forest.then(|| Arc::clone(trace))?;
    let forest = Forest::of_outermost(trace);
    let [function] = forest.functions() else {
        return None;
    };
    let name = FunctionName::parse(forest.trace().names.name(*function));
    Some(name.qualified.to_owned())
}

/// Returns the median duration of the trees.
pub fn median_duration(forest: &Forest) -> DurationNs {
    let mut durations: Vec<_> = (0..forest.len())
        .map(|index| forest.tree(TreeIdx::from_index(index)).duration())
        .collect();
    durations.sort_unstable();
    durations
        .get(durations.len() / 2)
        .copied()
        .unwrap_or_default()
}

/// Returns the names that the user may have meant: those that contain the typed text, or nearly.
fn similar_names(trace: &Trace, pattern: &str) -> Vec<String> {
    let wanted = last_component(&pattern.to_lowercase()).to_owned();
    let mut similar: Vec<(usize, &str)> = trace
        .names
        .iter()
        .map(|(_, full)| FunctionName::parse(full).qualified)
        .filter_map(|name| Some((unlikeness(&wanted, &name.to_lowercase())?, name)))
        .collect();
    similar.sort_unstable();
    similar.dedup();
    let names = similar.into_iter().map(|(_, name)| name.to_owned());
    names.take(MAX_SUGGESTED_NAMES).collect()
}

/// Returns the last part of a name, without enclosing wildcards and brackets.
fn last_component(name: &str) -> &str {
    let last = name.rsplit("::").next().unwrap_or_default();
    last.trim_matches(['*', '?', '(', ')', ' '])
}

/// Returns how much the last part of `name` differs from `wanted`, in letters; `None` if they are not similar.
fn unlikeness(wanted: &str, name: &str) -> Option<usize> {
    let name = last_component(name);
    let (num_wanted, num_letters) = (wanted.chars().count(), name.chars().count());
    if num_wanted == 0 {
        return None;
    }
    // A match inside a name counts only if it covers much of it: `bar` does not mean `MPI_Barrier`.
    if name.contains(wanted) && (2 * num_wanted >= num_letters || num_wanted >= 5) {
        return Some(num_letters - num_wanted);
    }
    let distance = edit_distance(wanted, name);
    (distance <= num_wanted / 3).then_some(distance)
}

/// Returns the number of letters to insert, remove or replace to turn one word into the other (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (other, &b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != b);
            diagonal = row[other + 1];
            row[other + 1] = replaced.min(row[other] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
        .take(MAX_SUGGESTED_NAMES)
        .map(|(_, func)| name(func))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let unlike = |wanted: &str, name: &str| unlikeness(wanted, name);
        assert_eq!(unlike("comput", "paiream::compute"), Some(1));
        assert_eq!(unlike("conpute", "paiream::compute"), Some(1));
        assert_eq!(unlike("barrier", "mpi_barrier"), Some(4));
        assert_eq!(unlike("bar", "mpi_barrier"), None);
        assert_eq!(unlike("bar", "foo::bars"), Some(1));
        assert_eq!(unlike("", "mpi_send"), None);
        assert_eq!(unlike("xyzzy", "mpi_send"), None);
        assert_eq!(last_component("pair*::*comp*"), "comp");
    }

    #[test]
    fn without_a_similar_name_the_most_called_are_listed() {
        let most = ["MPI_Send".to_owned(), "MPI_Wait".to_owned()];
        let error = RootError::NoMatch {
            pattern: "Foo::bar".to_owned(),
            similar: Vec::new(),
            most_called: most.to_vec(),
        };
        assert_eq!(
            error.to_string(),
            "no function matches `Foo::bar`; functions called most are MPI_Send, MPI_Wait"
        );
    }
}
