//! The files that a person gave to the page, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use callgrove_gui::{PathKind, command_for};
use callgrove_session::Command;

/// Name and content.
pub type NamedFile = (String, Arc<[u8]>);

/// Files in memory. Clones are the same shelf.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    /// Each with how many had been put there when it came.
    files: BTreeMap<String, (u64, Arc<[u8]>)>,
    num_put: u64,
}

impl Shelf {
    /// Puts a file there; one of the same name is replaced.
    pub fn put(&self, name: &str, content: Vec<u8>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.num_put += 1;
        let number = files.num_put;
        files
            .files
            .insert(name.to_owned(), (number, content.into()));
    }

    /// The files that came after the first `number`, by name, and how many have come by now.
    pub fn since(&self, number: u64) -> (Vec<NamedFile>, u64) {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = files.files.iter().filter(|(_, (came, _))| *came > number);
        let newer = newer.map(|(name, (_, content))| (name.clone(), Arc::clone(content)));
        (newer.collect(), files.num_put)
    }

    /// The content of a file.
    pub fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, content) = files.files.get(name)?;
        Some(Arc::clone(content))
    }
}

/// What opening a file, or an address, means: saved sessions are known by their extension.
pub fn open_command(named: &str) -> Command {
    let (_, extension) = named.rsplit_once('.').unwrap_or_default();
    let kind = if extension.eq_ignore_ascii_case("json") {
        PathKind::Session
    } else {
        PathKind::Trace
    };
    command_for(named, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_of_a_name_is_there() {
        let shelf = Shelf::default();
        let same = shelf.clone();
        shelf.put("a.jsonl", vec![1]);
        shelf.put("a.jsonl", vec![2]);
        assert_eq!(same.get("a.jsonl").as_deref(), Some(&[2][..]));
        assert_eq!(same.get("b.jsonl"), None);
        shelf.put("b.jsonl", vec![3]);
        let (newer, number) = shelf.since(2);
        assert_eq!(
            (newer.len(), newer[0].0.as_str(), number),
            (1, "b.jsonl", 3)
        );
        assert!(shelf.since(number).0.is_empty());
    }

    #[test]
    fn sessions_are_told_from_forests() {
        let is_session =
            |name| matches!(open_command(name), Command::LoadSession { path } if path == name);
        assert!(is_session("callgrove-session.json") && is_session("A.JSON"));
        assert!(!is_session("forest.jsonl") && !is_session("json"));
    }
}
