//! The files that a person gave to the page, by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use callgrove_gui::{PathKind, command_for};
use callgrove_session::Command;

/// Files, or what stands for them. Clones are the same shelf.
pub struct Shelf<F>(Rc<RefCell<Files<F>>>);

struct Files<F> {
    /// Each with how many had been put there when it came.
    files: BTreeMap<String, (u64, F)>,
    num_put: u64,
}

impl<F> Clone for Shelf<F> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<F> Default for Shelf<F> {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(Files {
            files: BTreeMap::new(),
            num_put: 0,
        })))
    }
}

impl<F: Clone> Shelf<F> {
    /// Puts a file there; one of the same name is replaced.
    pub fn put(&self, name: &str, file: F) {
        let mut files = self.0.borrow_mut();
        files.num_put += 1;
        let number = files.num_put;
        files.files.insert(name.to_owned(), (number, file));
    }

    /// The files that came after the first `number`, by name, and how many have come by now.
    pub fn since(&self, number: u64) -> (Vec<(String, F)>, u64) {
        let files = self.0.borrow();
        let newer = files.files.iter().filter(|(_, (came, _))| *came > number);
        let newer = newer.map(|(name, (_, file))| (name.clone(), file.clone()));
        (newer.collect(), files.num_put)
    }

    /// A file.
    pub fn get(&self, name: &str) -> Option<F> {
        let files = self.0.borrow();
        files.files.get(name).map(|(_, file)| file.clone())
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
        shelf.put("a.jsonl", 1);
        shelf.put("a.jsonl", 2);
        assert_eq!(same.get("a.jsonl"), Some(2));
        assert_eq!(same.get("b.jsonl"), None);
        shelf.put("b.jsonl", 3);
        let (newer, number) = shelf.since(2);
        assert_eq!((newer, number), (vec![("b.jsonl".to_owned(), 3)], 3));
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
