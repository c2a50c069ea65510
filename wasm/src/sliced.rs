//! The user's files, read in slices: a page never holds a whole one.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};

/// Number of bytes of a file that are in memory at a time.
const SLICE_BYTES: usize = 4 << 20;

/// The files that the user gave to the page.
pub trait UserFiles {
    /// Returns the length of a file in bytes; `None` if no file has this name.
    fn num_bytes(&self, name: &str) -> Option<u64>;

    /// Fills `slice` with the bytes of a file from `at` on.
    ///
    /// # Errors
    /// The browser's error message.
    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String>;
}

/// A reader of a file from its beginning.
pub struct SlicedFile<'a, S> {
    files: &'a S,
    name: &'a str,
    num_bytes: u64,
    /// Offset of the next slice.
    at: u64,
    slice: Vec<u8>,
    /// Number of bytes of the slice that were consumed.
    num_taken: usize,
    digest: Sha256,
}

impl<'a, S: UserFiles> SlicedFile<'a, S> {
    /// A reader of a file with `num_bytes` bytes.
    pub fn new(files: &'a S, name: &'a str, num_bytes: u64) -> Self {
        Self {
            files,
            name,
            num_bytes,
            at: 0,
            slice: Vec::new(),
            num_taken: 0,
            digest: Sha256::new(),
        }
    }

    /// Returns the hash of all bytes that were read, which identifies a file under any name.
    pub fn digest(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }
}

impl<S: UserFiles> BufRead for SlicedFile<'_, S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.num_taken == self.slice.len() {
            let left = usize::try_from(self.num_bytes - self.at).unwrap_or(usize::MAX);
            self.num_taken = 0;
            self.slice.resize(left.min(SLICE_BYTES), 0);
            if !self.slice.is_empty() {
                let read = self.files.read_slice(self.name, self.at, &mut self.slice);
                read.map_err(io::Error::other)?;
            }
            self.at += self.slice.len() as u64;
            self.digest.update(&self.slice);
        }
        Ok(&self.slice[self.num_taken..])
    }

    fn consume(&mut self, num_bytes: usize) {
        self.num_taken = (self.num_taken + num_bytes).min(self.slice.len());
    }
}

impl<S: UserFiles> Read for SlicedFile<'_, S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let num_read = self.fill_buf()?.read(bytes)?;
        self.consume(num_read);
        Ok(num_read)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A file with this content, and the lengths of the slices that were read.
    struct One(Vec<u8>, RefCell<Vec<usize>>);

    impl UserFiles for One {
        fn num_bytes(&self, _: &str) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn read_slice(&self, _: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
            self.1.borrow_mut().push(slice.len());
            let rest = self.0.get(at as usize..).ok_or("there is no more")?;
            slice.copy_from_slice(
                rest.get(..slice.len())
                    .ok_or("the file has become shorter")?,
            );
            Ok(())
        }
    }

    #[test]
    fn a_file_is_read_in_slices_and_hashed() {
        let content: Vec<u8> = (0..SLICE_BYTES * 2 + 5)
            .map(|at| (at % 251) as u8)
            .collect();
        let files = One(content, RefCell::default());
        let mut file = SlicedFile::new(&files, "a", files.0.len() as u64);
        let (mut first, mut rest) = ([0; 7], Vec::new());
        file.read_exact(&mut first).unwrap();
        file.read_to_end(&mut rest).unwrap();
        assert_eq!(first[..], files.0[..7]);
        assert!(rest == files.0[7..], "the rest differs");
        assert_eq!(*files.1.borrow(), [SLICE_BYTES, SLICE_BYTES, 5]);
        assert_eq!(file.digest()[..], Sha256::digest(&files.0)[..]);
    }

    #[test]
    fn errors_of_the_browser_are_passed_on() {
        let files = One(vec![1, 2], RefCell::default());
        let mut file = SlicedFile::new(&files, "a", 3);
        let refused = file.read(&mut [0]).unwrap_err().to_string();
        assert_eq!(refused, "the file has become shorter");
    }
}
