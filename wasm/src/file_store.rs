//! The files that the user gave to the page, by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use callgrove_session::Command;

/// A store of files, or of handles to files. Clones share the same store.
pub struct FileStore<F>(Rc<RefCell<Files<F>>>);

struct Files<F> {
    /// Each file with its sequence number.
    files: BTreeMap<String, (u64, F)>,
    num_put: u64,
}

impl<F> Clone for FileStore<F> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<F> Default for FileStore<F> {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(Files {
            files: BTreeMap::new(),
            num_put: 0,
        })))
    }
}

impl<F: Clone> FileStore<F> {
    /// Adds a file, or replaces the one of the same name.
    pub fn put(&self, name: &str, file: F) {
        let mut files = self.0.borrow_mut();
        files.num_put += 1;
        let number = files.num_put;
        files.files.insert(name.to_owned(), (number, file));
    }

    /// Returns the files after the first `number`, by name, and the number of all files so far.
    pub fn since(&self, number: u64) -> (Vec<(String, F)>, u64) {
        let files = self.0.borrow();
        let newer = files.files.iter().filter(|(_, (came, _))| *came > number);
        let newer = newer.map(|(name, (_, file))| (name.clone(), file.clone()));
        (newer.collect(), files.num_put)
    }

    /// Returns a file.
    pub fn get(&self, name: &str) -> Option<F> {
        let files = self.0.borrow();
        files.files.get(name).map(|(_, file)| file.clone())
    }
}

/// Returns the command that opens a file of the page.
pub fn open_command(name: &str) -> Command {
    Command::OpenTrace {
        source: name.to_owned(),
        function: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_an_older_one_of_the_same_name() {
        let store = FileStore::default();
        let same = store.clone();
        store.put("a.jsonl", 1);
        store.put("a.jsonl", 2);
        assert_eq!(same.get("a.jsonl"), Some(2));
        assert_eq!(same.get("b.jsonl"), None);
        store.put("b.jsonl", 3);
        let (newer, number) = store.since(2);
        assert_eq!((newer, number), (vec![("b.jsonl".to_owned(), 3)], 3));
        assert!(store.since(number).0.is_empty());
    }
}
