//! Files of the person, read slice by slice: a page never holds a whole one.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};

/// How much of a file is in memory at a time.
const SLICE_BYTES: usize = 4 << 20;

/// The files that the person gave to the page.
pub trait PersonFiles {
    /// The length of a file in bytes; `None` if there is none of this name.
    fn num_bytes(&self, name: &str) -> Option<u64>;

    /// Fills `slice` with what a file has from `at` on.
    ///
    /// # Errors
    /// Why the browser refuses, in words.
    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String>;
}

/// Reads a file from its beginning.
pub struct SlicedFile<'a, S> {
    files: &'a S,
    name: &'a str,
    num_bytes: u64,
    /// Where the next slice begins.
    at: u64,
    slice: Vec<u8>,
    /// How much of the slice was taken.
    num_taken: usize,
    digest: Sha256,
}

impl<'a, S: PersonFiles> SlicedFile<'a, S> {
    /// Reads a file of so many bytes.
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

    /// The sum of all that was read, by which a file is known under any name.
    pub fn digest(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }
}

impl<S: PersonFiles> BufRead for SlicedFile<'_, S> {
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

impl<S: PersonFiles> Read for SlicedFile<'_, S> {
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

    /// A file of this content, and the slices that were asked for.
    struct One(Vec<u8>, RefCell<Vec<usize>>);

    impl PersonFiles for One {
        fn num_bytes(&self, _: &str) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn read_slice(&self, _: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
            self.1.borrow_mut().push(slice.len());
            let rest = self.0.get(at as usize..).ok_or("there is no more")?;
            slice.copy_from_slice(rest.get(..slice.len()).ok_or("it has become shorter")?);
            Ok(())
        }
    }

    #[test]
    fn a_file_is_read_to_its_end_in_slices_and_summed() {
        let content: Vec<u8> = (0..SLICE_BYTES * 2 + 5)
            .map(|at| (at % 251) as u8)
            .collect();
        let files = One(content, RefCell::default());
        let mut file = SlicedFile::new(&files, "a", files.0.len() as u64);
        let (mut first, mut rest) = ([0; 7], Vec::new());
        file.read_exact(&mut first).unwrap();
        file.read_to_end(&mut rest).unwrap();
        assert_eq!(first[..], files.0[..7]);
        assert!(rest == files.0[7..], "the rest is another");
        assert_eq!(*files.1.borrow(), [SLICE_BYTES, SLICE_BYTES, 5]);
        assert_eq!(file.digest()[..], Sha256::digest(&files.0)[..]);
    }

    #[test]
    fn what_the_browser_refuses_is_told() {
        let files = One(vec![1, 2], RefCell::default());
        let mut file = SlicedFile::new(&files, "a", 3);
        let refused = file.read(&mut [0]).unwrap_err().to_string();
        assert_eq!(refused, "it has become shorter");
    }
}
