//! Files in memory, for a caller that has the bytes already.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SourceError;
use crate::input::{FileReader, FileSystem};

/// Files in memory, by path. Each path with further parts below it is a folder.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Arc<[u8]>>,
}

impl MemoryFiles {
    /// Adds a file, or replaces it.
    pub fn put(&mut self, path: &str, content: &[u8]) {
        self.files.insert(PathBuf::from(path), content.into());
    }

    fn file(&self, path: &Path) -> io::Result<&Arc<[u8]>> {
        self.files
            .get(path)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl FileSystem for MemoryFiles {
    fn exists(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.is_folder(path)
    }

    fn is_folder(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && self.files.keys().any(|file| file.starts_with(path))
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let below = self.files.keys().filter_map(|file| {
            let first = file.strip_prefix(folder).ok()?.components().next()?;
            Some(folder.join(first))
        });
        let mut entries: Vec<PathBuf> = below.collect();
        entries.dedup();
        Ok(entries)
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, SourceError> {
        Err(SourceError::NotFound {
            path: pattern.to_owned(),
        })
    }

    fn num_bytes(&self, file: &Path) -> io::Result<u64> {
        Ok(u64::try_from(self.file(file)?.len()).unwrap_or(u64::MAX))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn FileReader>> {
        Ok(Box::new(Cursor::new(Arc::clone(self.file(file)?))))
    }
}
