//! The part of a text that is in memory.

use std::io::{self, Read};

/// Number of bytes that are in memory unless a value is longer.
const WINDOW_BYTES: usize = 1 << 20;
/// Maximum number of bytes of one value: longer ones are damage.
const MAX_VALUE_BYTES: usize = 16 << 20;

/// A window that moves over a text.
pub(crate) struct TextWindow {
    reader: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of bytes before the window.
    num_before: u64,
    has_ended: bool,
    /// The error of the reader that ended the text.
    pub(crate) fault: Option<io::Error>,
}

impl TextWindow {
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
            start: 0,
            end: 0,
            num_before: 0,
            has_ended: false,
            fault: None,
        }
    }

    /// Returns the bytes in the window.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the number of bytes of the text before those in the window.
    pub(crate) fn place(&self) -> u64 {
        self.num_before
    }

    /// Advances the start of the window.
    pub(crate) fn pass(&mut self, num_bytes: usize) {
        let num_bytes = num_bytes.min(self.end - self.start);
        self.start += num_bytes;
        self.num_before += u64::try_from(num_bytes).unwrap_or(u64::MAX);
    }

    /// Reads more bytes to the end of the window. Returns false if the text has ended, or if the window is as long as
    /// a value may be.
    pub(crate) fn fill(&mut self) -> bool {
        if self.has_ended || self.is_full() {
            return false;
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let wanted = WINDOW_BYTES.max(2 * self.end).min(MAX_VALUE_BYTES);
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        let before = self.end;
        while let Some(free) = self.bytes.get_mut(self.end..).filter(|it| !it.is_empty()) {
            match self.reader.read(free) {
                Ok(0) => {
                    self.has_ended = true;
                    break;
                }
                Ok(num_read) => self.end += num_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fault = Some(error);
                    self.has_ended = true;
                    break;
                }
            }
        }
        self.end > before
    }

    /// Returns whether the window is as long as a value may be.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start >= MAX_VALUE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_a_value_up_to_a_limit() {
        let text = io::repeat(b'x').take(40 << 20);
        let mut window = TextWindow::new(Box::new(text));
        assert!(window.fill());
        assert_eq!(window.bytes().len(), WINDOW_BYTES);
        while window.fill() {}
        assert!(window.is_full());
        window.pass(MAX_VALUE_BYTES - 1);
        assert!(window.fill() && window.bytes().len() > 1);
        assert_eq!(window.place(), 16_777_215);
    }
}
