//! The user's files, read in slices: a page never holds a whole one.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use callgrove_source::{FileReader, FileSystem, SourceError};
use sha2::{Digest, Sha256};

/// Number of bytes of a file that are in memory at a time.
const SLICE_BYTES: usize = 4 << 20;
/// Number of bytes of the first slice after a jump, which may be all that is wanted.
const FIRST_SLICE_BYTES: usize = 64 << 10;

/// The files that the user gave to the page.
pub trait UserFiles {
    /// Returns the names of all files. One in a folder has the path from that folder on: `run/traces.otf2`.
    fn names(&self) -> Vec<String>;

    /// Returns the length of a file in bytes; `None` if no file has this name.
    fn num_bytes(&self, name: &str) -> Option<u64>;

    /// Fills `slice` with the bytes of a file from `at` on.
    ///
    /// # Errors
    /// The browser's error message.
    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String>;
}

/// The files of a page as formats read them. Folders follow from the names.
pub struct PageFiles<S>(pub S);

/// A reader of a file.
pub struct SlicedFile<S> {
    files: S,
    name: String,
    num_bytes: u64,
    /// Offset of the next slice.
    at: u64,
    slice: Vec<u8>,
    /// Number of bytes of the slice that were consumed.
    num_taken: usize,
    next_slice_bytes: usize,
}

impl<S: UserFiles> SlicedFile<S> {
    /// Returns a reader of a file with `num_bytes` bytes, from its beginning.
    pub fn new(files: S, name: &str, num_bytes: u64) -> Self {
        Self {
            files,
            name: name.to_owned(),
            num_bytes,
            at: 0,
            slice: Vec::new(),
            num_taken: 0,
            next_slice_bytes: FIRST_SLICE_BYTES,
        }
    }

    /// Returns the hash of all bytes from here on, which identifies a file under any name.
    ///
    /// # Errors
    /// The browser's error.
    pub fn digest(mut self) -> io::Result<[u8; 32]> {
        let mut digest = Sha256::new();
        let mut bytes = vec![0; FIRST_SLICE_BYTES];
        loop {
            match self.read(&mut bytes)? {
                0 => return Ok(digest.finalize().into()),
                num_bytes => digest.update(&bytes[..num_bytes]),
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let left = usize::try_from(self.num_bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        self.num_taken = 0;
        self.slice.resize(left.min(self.next_slice_bytes), 0);
        if !self.slice.is_empty() {
            let read = self.files.read_slice(&self.name, self.at, &mut self.slice);
            read.map_err(io::Error::other)?;
        }
        self.at += self.slice.len() as u64;
        self.next_slice_bytes = SLICE_BYTES;
        Ok(())
    }
}

impl<S: UserFiles> Read for SlicedFile<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.num_taken == self.slice.len() {
            self.fill()?;
        }
        let num_read = (&self.slice[self.num_taken..]).read(bytes)?;
        self.num_taken += num_read;
        Ok(num_read)
    }
}

impl<S: UserFiles> Seek for SlicedFile<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let start = self.at - self.slice.len() as u64;
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::End(offset) => self.num_bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => (start + self.num_taken as u64).checked_add_signed(offset),
        };
        let target = target.ok_or(io::ErrorKind::InvalidInput)?;
        match target.checked_sub(start).map(usize::try_from) {
            Some(Ok(within)) if within <= self.slice.len() => self.num_taken = within,
            _ => {
                self.slice.clear();
                (self.num_taken, self.at) = (0, target);
                self.next_slice_bytes = FIRST_SLICE_BYTES;
            }
        }
        Ok(target)
    }
}

impl<S: UserFiles + Clone + Send + Sync + 'static> FileSystem for PageFiles<S> {
    fn exists(&self, path: &Path) -> bool {
        self.num_bytes(path).is_ok() || self.is_folder(path)
    }

    fn is_folder(&self, path: &Path) -> bool {
        let is_below = |name: &String| Path::new(name) != path && Path::new(name).starts_with(path);
        !path.as_os_str().is_empty() && self.0.names().iter().any(is_below)
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.0.names();
        let below = names.iter().filter_map(|name| {
            let first = Path::new(name)
                .strip_prefix(folder)
                .ok()?
                .components()
                .next()?;
            Some(folder.join(first))
        });
        let entries: BTreeSet<PathBuf> = below.collect();
        Ok(entries.into_iter().collect())
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let path = pattern.to_owned();
        Err(SourceError::NotFound { path })
    }

    fn num_bytes(&self, file: &Path) -> io::Result<u64> {
        let name = file.to_str().ok_or(io::ErrorKind::NotFound)?;
        let num_bytes = self.0.num_bytes(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(num_bytes)
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn FileReader>> {
        let num_bytes = FileSystem::num_bytes(self, file)?;
        let name = file.to_str().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(SlicedFile::new(self.0.clone(), name, num_bytes)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A file with this content, and the lengths of the slices that were read.
    #[derive(Clone)]
    struct One(Arc<[u8]>, Arc<Mutex<Vec<usize>>>);

    impl UserFiles for One {
        fn names(&self) -> Vec<String> {
            vec![
                "run/a".to_owned(),
                "run/ranks/0".to_owned(),
                "run/ranks/1".to_owned(),
            ]
        }

        fn num_bytes(&self, _: &str) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn read_slice(&self, _: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
            self.1.lock().unwrap().push(slice.len());
            let rest = self.0.get(at as usize..).ok_or("there is no more")?;
            slice.copy_from_slice(
                rest.get(..slice.len())
                    .ok_or("the file has become shorter")?,
            );
            Ok(())
        }
    }

    fn file(num_bytes: usize) -> One {
        let content = (0..num_bytes).map(|at| (at % 251) as u8);
        One(content.collect(), Arc::default())
    }

    #[test]
    fn a_file_is_read_in_slices_and_hashed() {
        let files = file(FIRST_SLICE_BYTES + SLICE_BYTES + 5);
        let open = || SlicedFile::new(files.clone(), "a", files.0.len() as u64);
        let (mut read, mut first, mut rest) = (open(), [0; 7], Vec::new());
        read.read_exact(&mut first).unwrap();
        read.read_to_end(&mut rest).unwrap();
        assert_eq!(first[..], files.0[..7]);
        assert!(rest == files.0[7..], "the rest differs");
        assert_eq!(
            *files.1.lock().unwrap(),
            [FIRST_SLICE_BYTES, SLICE_BYTES, 5]
        );
        assert_eq!(open().digest().unwrap()[..], Sha256::digest(&files.0)[..]);
    }

    #[test]
    fn a_reader_jumps_anywhere() {
        let files = file(3 * FIRST_SLICE_BYTES);
        let mut read = SlicedFile::new(files.clone(), "a", files.0.len() as u64);
        let mut check = |to: SeekFrom, at: usize| {
            assert_eq!(read.seek(to).unwrap(), at as u64);
            let mut bytes = Vec::new();
            read.by_ref().take(3).read_to_end(&mut bytes).unwrap();
            let end = (at + 3).min(files.0.len());
            assert_eq!(bytes, files.0[at.min(end)..end], "at {at}");
        };
        check(SeekFrom::Start(100), 100);
        check(SeekFrom::Current(-3), 100);
        check(SeekFrom::End(-2), 3 * FIRST_SLICE_BYTES - 2);
        check(
            SeekFrom::Start(FIRST_SLICE_BYTES as u64 - 1),
            FIRST_SLICE_BYTES - 1,
        );
        check(SeekFrom::End(0), 3 * FIRST_SLICE_BYTES);
        assert!(read.seek(SeekFrom::Current(-9_999_999)).is_err());
    }

    #[test]
    fn folders_follow_from_the_names() {
        let files = PageFiles(file(1));
        let (run, ranks) = (Path::new("run"), Path::new("run/ranks"));
        assert!(
            files.is_folder(run) && files.is_folder(ranks) && !files.is_folder(Path::new("ru"))
        );
        assert!(!files.is_folder(Path::new("run/a")) && !files.is_folder(Path::new("")));
        assert_eq!(files.entries(run).unwrap(), [Path::new("run/a"), ranks]);
    }

    #[test]
    fn errors_of_the_browser_are_passed_on() {
        let mut read = SlicedFile::new(file(2), "a", 3);
        let refused = read.read(&mut [0]).unwrap_err().to_string();
        assert_eq!(refused, "the file has become shorter");
    }
}
