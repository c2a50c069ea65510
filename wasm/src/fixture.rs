//! Data for the tests of this crate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use crate::sliced_files::UserFiles;

const NUM_TREES: u32 = 60;

/// Returns a forest file of made-up trees, one of which is slow.
pub(crate) fn forest_file() -> Vec<u8> {
    let mut text =
        String::from("{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}\n");
    for number in 0..NUM_TREES {
        let slow = if number == 31 { 900 } else { 40 + number % 3 };
        writeln!(
            text,
            "{{\"entry\":{number},\"parent\":[-1,0,1],\"names\":[\"step\",\"solve\",\"send\"],\"w\":[{},{slow},5]}}",
            slow + 10
        )
        .unwrap();
    }
    text.into_bytes()
}

/// The length that a file reports, and its content.
type FileInMemory = (u64, Vec<u8>);

/// The user's files in memory.
#[derive(Clone, Default)]
pub(crate) struct UserFilesInMemory(Arc<Mutex<BTreeMap<String, FileInMemory>>>);

impl UserFilesInMemory {
    pub(crate) fn put(&self, name: &str, content: Vec<u8>) {
        let file = (content.len() as u64, content);
        self.0.lock().unwrap().insert(name.to_owned(), file);
    }

    /// Adds a file that reports a length, but of which only the start can be read.
    pub(crate) fn pretend(&self, name: &str, num_bytes: u64, start: &[u8]) {
        let file = (num_bytes, start.to_vec());
        self.0.lock().unwrap().insert(name.to_owned(), file);
    }
}

impl UserFiles for UserFilesInMemory {
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn num_bytes(&self, name: &str) -> Option<u64> {
        Some(self.0.lock().unwrap().get(name)?.0)
    }

    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
        let files = self.0.lock().unwrap();
        let content = files.get(name).and_then(|file| file.1.get(at as usize..));
        let content = content.and_then(|rest| rest.get(..slice.len()));
        slice.copy_from_slice(content.ok_or("it cannot be read")?);
        Ok(())
    }
}
