//! Matching of a run's functions with those of a training, even if lines were added to source files.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, FunctionName, NameTable};
use serde::{Deserialize, Serialize};

/// Numbers of functions, by the part of their names that matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MatchedFunctions {
    /// Matched by the complete name.
    pub exact: usize,
    /// Matched by signature and file, whatever the line.
    pub by_signature: usize,
    /// Functions of the run that the training does not have.
    pub unknown: usize,
}

/// The functions of a run matched with those of a training: by the complete name first, then by signature and name of
/// the source file if these identify one function on either side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionMatch {
    /// Names of the run's functions as in the training, by id.
    names: Vec<String>,
    /// Functions of the run by index among those of the training.
    run_of: Vec<Option<FuncId>>,
    matched: MatchedFunctions,
}

impl FunctionMatch {
    /// Matches the functions of a run with the `known` ones of a training; only those that `is_used` count.
    pub fn new(
        known: &[String],
        run: &NameTable<FuncId>,
        is_used: impl Fn(FuncId) -> bool,
    ) -> Self {
        let place_of: BTreeMap<&str, usize> = (0..)
            .zip(known)
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let mut known_by_key: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (at, name) in known.iter().enumerate() {
            if run.get(name).is_none() {
                known_by_key.entry(key(name)).or_default().push(at);
            }
        }
        let mut run_by_key: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (_, name) in run.iter() {
            if !place_of.contains_key(name) {
                *run_by_key.entry(key(name)).or_default() += 1;
            }
        }
        let mut found = Self {
            names: Vec::with_capacity(run.len()),
            run_of: vec![None; known.len()],
            matched: MatchedFunctions::default(),
        };
        for (func, name) in run.iter() {
            let exact = place_of.get(name).copied();
            let by_key = || {
                let key = key(name);
                match known_by_key.get(&key).map(Vec::as_slice) {
                    Some([only]) if run_by_key.get(&key) == Some(&1) => Some(*only),
                    _ => None,
                }
            };
            let index = exact.or_else(by_key);
            if is_used(func) {
                let matched = &mut found.matched;
                match (exact, index) {
                    (Some(_), _) => matched.exact += 1,
                    (None, Some(_)) => matched.by_signature += 1,
                    (None, None) => matched.unknown += 1,
                }
            }
            if let Some(index) = index {
                found.run_of[index] = Some(func);
            }
            let as_known = index.map_or(name, |index| known[index].as_str());
            found.names.push(as_known.to_owned());
        }
        found
    }

    /// Returns the names of the run's functions as in the training, by id.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the function of the run that matches one of the training, by its index there.
    pub fn run_of(&self, index: usize) -> Option<FuncId> {
        self.run_of.get(index).copied().flatten()
    }

    /// Returns the numbers of matched functions.
    pub fn matched(&self) -> MatchedFunctions {
        self.matched
    }
}

/// Returns signature and name of the source file, without folders and lines.
fn key(name: &str) -> (String, String) {
    let parsed = FunctionName::parse(name);
    let file = parsed.file.unwrap_or_default();
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let signature = match name.rfind(" [{") {
        Some(at) if name.ends_with(']') => &name[..at],
        _ => name,
    };
    (signature.trim().to_owned(), file.to_owned())
}

/// Returns whether two functions are the same, whatever the lines.
pub fn is_same_function(a: &str, b: &str) -> bool {
    a == b || key(a) == key(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(names: &[&str]) -> NameTable<FuncId> {
        let mut table = NameTable::default();
        for name in names {
            table.intern(name);
        }
        table
    }

    #[test]
    fn a_unique_signature_matches_whatever_the_line_and_folder() {
        let known = [
            "void step(int) [{one/heat.cpp} {391,0}]",
            "void step(double) [{one/heat.cpp} {400,0}]",
            "MPI_Send()",
            "loop [{heat.cpp} {10,1}-{12,1}]",
            "loop [{heat.cpp} {20,1}-{22,1}]",
        ]
        .map(str::to_owned);
        let run = run(&[
            "void step(int) [{other/heat.cpp} {394,0}]",
            "MPI_Send()",
            "loop [{heat.cpp} {13,1}-{15,1}]",
            "loop [{heat.cpp} {23,1}-{25,1}]",
            "new()",
        ]);
        let found = FunctionMatch::new(&known, &run, |_| true);
        let matched = found.matched();
        assert_eq!((matched.exact, matched.by_signature), (1, 1));
        assert_eq!(matched.unknown, 3, "two loops could be either");
        assert_eq!(found.names()[0], known[0]);
        assert_eq!(found.names()[2], "loop [{heat.cpp} {13,1}-{15,1}]");
        assert_eq!(found.run_of(0), Some(FuncId(0)));
        assert_eq!(found.run_of(1), None);
    }
}
