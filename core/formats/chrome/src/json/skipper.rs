//! Skips a value of any length, piece by piece.

/// The state within a value that is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueSkipper {
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
}

impl ValueSkipper {
    /// Skips bytes of the value. Returns their number, and whether the value ends after them: before a comma or a
    /// bracket that is not its own.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.is_escaped {
                self.is_escaped = false;
            } else if self.is_in_string {
                self.is_escaped = byte == b'\\';
                self.is_in_string = byte != b'"';
            } else {
                match byte {
                    b'"' => self.is_in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b',' | b'}' | b']' if self.depth == 0 => return (at, true),
                    b'}' | b']' => self.depth -= 1,
                    _ => {}
                }
            }
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_pieces_ends_where_it_ends() {
        let text = br#" [1, {"a,]\"": "}"}, []] , "b": 1}"#;
        let end = text.len() - 9;
        for size in 1..text.len() {
            let (mut skipper, mut passed) = (ValueSkipper::default(), 0);
            for piece in text.chunks(size) {
                let (length, has_ended) = skipper.pass(piece);
                passed += length;
                if has_ended {
                    break;
                }
            }
            assert_eq!(passed, end, "pieces of {size}");
        }
    }
}
