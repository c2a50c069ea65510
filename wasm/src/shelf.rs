//! The files that a person gave to the page, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use callgrove_gui::{PathKind, command_for};
use callgrove_session::Command;

/// Files in memory. Clones are the same shelf.
#[derive(Clone, Default)]
pub struct Shelf {
    files: Arc<Mutex<BTreeMap<String, Arc<[u8]>>>>,
}

impl Shelf {
    /// Puts a file there; one of the same name is replaced.
    pub fn put(&self, name: &str, content: Vec<u8>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(name.to_owned(), content.into());
    }

    /// The content of a file.
    pub fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(name).cloned()
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
    }

    #[test]
    fn sessions_are_told_from_forests() {
        let is_session =
            |name| matches!(open_command(name), Command::LoadSession { path } if path == name);
        assert!(is_session("callgrove-session.json") && is_session("A.JSON"));
        assert!(!is_session("forest.jsonl") && !is_session("json"));
    }
}
