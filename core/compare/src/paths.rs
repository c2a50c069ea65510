//! The call paths and structures of two runs, matched by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A call path: an index into [`PathTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PathId(pub u32);

/// A function: an index into [`PathTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameId(pub u32);

/// The structure of a call: its path, and which paths it calls directly, ascending.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallStructure {
    /// The path of the call.
    pub path: PathId,
    /// The paths of the calls inside it, each once.
    pub callees: Vec<PathId>,
}

/// The call paths of runs: equal paths have equal ids. A function that calls itself directly is one entry of a path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "StoredPaths", into = "StoredPaths")]
pub struct PathTable {
    names: Vec<String>,
    by_name: BTreeMap<String, NameId>,
    paths: Vec<CallPath>,
    roots: Vec<PathId>,
}

#[derive(Clone, Debug)]
struct CallPath {
    name: NameId,
    caller: Option<PathId>,
    callees: Vec<PathId>,
}

/// A table in a file: each path has a smaller index than those that it calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredPaths {
    names: Vec<String>,
    /// The caller's path and the function of each path.
    paths: Vec<(Option<u32>, u32)>,
}

impl From<PathTable> for StoredPaths {
    fn from(table: PathTable) -> Self {
        let paths = table.paths.iter();
        Self {
            paths: paths
                .map(|it| (it.caller.map(|of| of.0), it.name.0))
                .collect(),
            names: table.names,
        }
    }
}

impl TryFrom<StoredPaths> for PathTable {
    type Error = &'static str;

    fn try_from(stored: StoredPaths) -> Result<Self, Self::Error> {
        let mut table = Self::default();
        let names: Vec<NameId> = stored
            .names
            .iter()
            .map(|name| table.function(name))
            .collect();
        for (at, (caller, name)) in stored.paths.iter().enumerate() {
            let caller = caller.map(PathId);
            if caller.is_some_and(|caller| index(caller) >= at) {
                return Err("a call path comes before its caller");
            }
            let name = usize::try_from(*name).ok().and_then(|name| names.get(name));
            let name = *name.ok_or("a call path has no function")?;
            if index(table.call(caller, name)) != at {
                return Err("a call path occurs twice");
            }
        }
        Ok(table)
    }
}

impl PathTable {
    /// Adds the paths of another table. Returns the id of each of them here.
    pub fn add_all(&mut self, other: &Self) -> Vec<PathId> {
        let mut own: Vec<PathId> = Vec::with_capacity(other.paths.len());
        for path in &other.paths {
            let name = self.function(other.name(path.name));
            let caller = path.caller.map(|caller| own[index(caller)]);
            own.push(self.call(caller, name));
        }
        own
    }

    /// Returns the function with a name, which is added if it is new.
    pub fn function(&mut self, name: &str) -> NameId {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let id = NameId(number(self.names.len()));
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// Returns the path of a call of a function under a path, which is added if it is new.
    pub fn call(&mut self, caller: Option<PathId>, name: NameId) -> PathId {
        let siblings = match caller {
            Some(caller) if self.paths[index(caller)].name == name => return caller,
            Some(caller) => &self.paths[index(caller)].callees,
            None => &self.roots,
        };
        let known = siblings
            .iter()
            .find(|it| self.paths[index(**it)].name == name);
        if let Some(&known) = known {
            return known;
        }
        let id = PathId(number(self.paths.len()));
        self.paths.push(CallPath {
            name,
            caller,
            callees: Vec::new(),
        });
        match caller {
            Some(caller) => self.paths[index(caller)].callees.push(id),
            None => self.roots.push(id),
        }
        id
    }

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Returns whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the function that a path ends in.
    pub fn function_of(&self, path: PathId) -> NameId {
        self.paths[index(path)].name
    }

    /// Returns the caller's path.
    pub fn caller_of(&self, path: PathId) -> Option<PathId> {
        self.paths[index(path)].caller
    }

    /// Returns the name of a function.
    pub fn name(&self, function: NameId) -> &str {
        &self.names[usize::try_from(function.0).unwrap_or(usize::MAX)]
    }

    /// Returns the names of the functions of a path, the outermost first.
    pub fn names_of(&self, path: PathId) -> Vec<&str> {
        let upwards = std::iter::successors(Some(path), |path| self.caller_of(*path));
        let mut names: Vec<&str> = upwards
            .map(|path| self.name(self.function_of(path)))
            .collect();
        names.reverse();
        names
    }
}

pub(crate) fn index(path: PathId) -> usize {
    usize::try_from(path.0).unwrap_or(usize::MAX)
}

fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_equal_ids() {
        let mut paths = PathTable::default();
        let [main, step] = ["main", "step"].map(|name| paths.function(name));
        let outer = paths.call(None, main);
        let inner = paths.call(Some(outer), step);
        assert_eq!(paths.call(Some(outer), step), inner);
        assert_eq!(paths.call(Some(inner), step), inner, "direct recursion");
        assert_eq!(paths.names_of(inner), ["main", "step"]);
        assert_eq!((paths.len(), paths.function("step")), (2, step));
    }

    #[test]
    fn paths_of_another_table_keep_their_names() {
        let mut one = PathTable::default();
        let [main, step, other] = ["main", "step", "other"].map(|name| one.function(name));
        let outer = one.call(None, main);
        one.call(Some(outer), step);
        let mut two = PathTable::default();
        let main = two.function("main");
        let outer = two.call(None, main);
        let own = two.add_all(&one);
        assert_eq!((own[0], own.len(), two.len()), (outer, 2, 2));
        assert_eq!(two.names_of(own[1]), ["main", "step"]);
        assert_ne!(one.function("step"), other);
    }
}
