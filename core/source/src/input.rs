//! The files that formats read: those of this machine, or those that a user gave to a page.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SourceError;

/// An open file.
pub trait FileReader: Read + Seek + Send {}

impl<T: Read + Seek + Send> FileReader for T {}

/// Access to files and folders.
pub trait FileSystem: Send + Sync {
    /// Returns whether a file or folder has this path.
    fn exists(&self, path: &Path) -> bool;

    /// Returns whether the path is that of a folder.
    fn is_folder(&self, path: &Path) -> bool;

    /// Returns the paths of the files and folders in a folder, sorted.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Returns the paths that a pattern matches, sorted.
    ///
    /// # Errors
    /// [`SourceError::BadPattern`], [`SourceError::NoMatch`]; [`SourceError::NotFound`] for a path without wildcards.
    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, SourceError>;

    /// Returns the length of a file in bytes.
    ///
    /// # Errors
    /// There is no such file.
    fn num_bytes(&self, file: &Path) -> io::Result<u64>;

    /// Opens a file at its beginning.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, file: &Path) -> io::Result<Box<dyn FileReader>>;
}

/// A file or folder that may be a trace, or a part of one.
#[derive(Clone)]
pub struct Input {
    path: PathBuf,
    files: Arc<dyn FileSystem>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

impl Input {
    /// Returns the file or folder at `path`.
    pub fn new(path: &Path, files: &Arc<dyn FileSystem>) -> Self {
        Self {
            path: path.to_owned(),
            files: Arc::clone(files),
        }
    }

    /// Returns another file or folder of the same files.
    #[must_use]
    pub fn with_path(&self, path: &Path) -> Self {
        Self::new(path, &self.files)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether its name has this extension, in upper or lower case.
    pub fn has_extension(&self, extension: &str) -> bool {
        let found = self.path.extension().and_then(OsStr::to_str);
        found.is_some_and(|found| found.eq_ignore_ascii_case(extension))
    }

    /// Returns whether it exists.
    pub fn exists(&self) -> bool {
        self.files.exists(&self.path)
    }

    /// Returns whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.files.is_folder(&self.path)
    }

    /// Returns whether it is a folder with a file or folder of this name.
    pub fn has_entry(&self, name: &str) -> bool {
        self.files.exists(&self.path.join(name))
    }

    /// Returns the contents of a folder, sorted by path.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub fn entries(&self) -> Result<Vec<Self>, SourceError> {
        let entries = self.files.entries(&self.path).map_err(self.io_error())?;
        Ok(entries
            .iter()
            .map(|path| Self::new(path, &self.files))
            .collect())
    }

    /// Returns the length of a file in bytes.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub fn num_bytes(&self) -> Result<u64, SourceError> {
        self.files.num_bytes(&self.path).map_err(self.io_error())
    }

    /// Opens a file at its beginning.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub fn open(&self) -> Result<BufReader<Box<dyn FileReader>>, SourceError> {
        let file = self.files.open(&self.path).map_err(self.io_error())?;
        Ok(BufReader::new(file))
    }

    /// Returns the first bytes of a file, at most `limit`; none if it cannot be read, which its format reports.
    pub fn first_bytes(&self, limit: usize) -> Vec<u8> {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        if !self.is_folder()
            && let Ok(file) = self.files.open(&self.path)
            && file.take(limit).read_to_end(&mut bytes).is_err()
        {
            bytes.clear();
        }
        bytes
    }

    /// Returns a function that adds the path to an error of the system.
    pub fn io_error(&self) -> impl Fn(io::Error) -> SourceError + use<> {
        let path = self.path.clone();
        move |source| SourceError::Io {
            source,
            path: path.clone(),
        }
    }
}
