//! A pull parser over bytes that are in memory.
//!
//! It checks just enough to keep damage local: brackets match, and a string is followed by a valid character. So a lost
//! quote ends a value within a few bytes, although the text that follows has the roles of strings and names exchanged.

use super::text::JsonText;

/// Deepest nesting of brackets in a value: files nest a few levels, and the kinds of open brackets fit an integer.
const MAX_DEPTH: u32 = 128;

/// The reason why a value cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsonFault {
    /// The bytes end within the value.
    Incomplete,
    /// The bytes are not JSON.
    Invalid,
}

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum JsonValue<'a> {
    /// There is no value.
    #[default]
    Missing,
    /// A string.
    Text(JsonText<'a>),
    /// A number, `true`, `false`, `null`, or an invalid literal that some writers use, such as `NaN`.
    Word(&'a [u8]),
    /// An object or array with its brackets.
    Nested(&'a [u8]),
}

/// A position in bytes of JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> JsonCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes before the position.
    pub(crate) fn num_passed(&self) -> usize {
        self.at
    }

    /// Skips white space, and returns the byte after it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, JsonFault> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(JsonFault::Incomplete)
    }

    /// Skips a byte that [`JsonCursor::peek`] returned.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.at += 1;
    }

    /// Skips white space and one byte.
    #[inline]
    pub(crate) fn take(&mut self, wanted: u8) -> Result<(), JsonFault> {
        if self.peek()? != wanted {
            return Err(JsonFault::Invalid);
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an object, and calls `each` with every key and value. Keys are as written, with escapes. A comma before
    /// the end is allowed.
    #[inline]
    pub(crate) fn members(
        &mut self,
        mut each: impl FnMut(&'a [u8], JsonValue<'a>),
    ) -> Result<(), JsonFault> {
        self.take(b'{')?;
        while self.peek()? != b'}' {
            let key = self.text()?;
            self.take(b':')?;
            let value = self.value()?;
            each(key.raw(), value);
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {}
                _ => return Err(JsonFault::Invalid),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an array, and calls `each` with every value.
    pub(crate) fn elements(
        &mut self,
        mut each: impl FnMut(JsonValue<'a>),
    ) -> Result<(), JsonFault> {
        self.take(b'[')?;
        while self.peek()? != b']' {
            each(self.value()?);
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {}
                _ => return Err(JsonFault::Invalid),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a value.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<JsonValue<'a>, JsonFault> {
        match self.peek()? {
            b'"' => Ok(JsonValue::Text(self.text()?)),
            b'{' | b'[' => Ok(JsonValue::Nested(self.nested()?)),
            _ => Ok(JsonValue::Word(self.word()?)),
        }
    }

    /// Reads a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<JsonText<'a>, JsonFault> {
        self.take(b'"')?;
        let start = self.at;
        let is_plain = self.pass_string()?;
        let raw = self.bytes.get(start..self.at - 1).unwrap_or_default();
        Ok(JsonText::new(raw, is_plain))
    }

    /// Reads the rest of a string after its first quote. Returns whether it has no escapes.
    #[inline]
    fn pass_string(&mut self) -> Result<bool, JsonFault> {
        let mut is_plain = true;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let found = position_of_quote(rest).ok_or(JsonFault::Incomplete)?;
            self.at += found + 1;
            if rest.get(found) == Some(&b'"') {
                return Ok(is_plain);
            }
            is_plain = false;
            self.at += 1;
        }
    }

    /// Reads a number or literal.
    #[inline]
    fn word(&mut self) -> Result<&'a [u8], JsonFault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.iter().position(|byte| !is_part(byte));
        let length = length.ok_or(JsonFault::Incomplete)?;
        if length == 0 {
            return Err(JsonFault::Invalid);
        }
        self.at += length;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// Skips an object or array without parsing its values.
    fn nested(&mut self) -> Result<&'a [u8], JsonFault> {
        let start = self.at;
        let (mut depth, mut are_objects) = (0_u32, 0_u128);
        loop {
            let byte = *self.bytes.get(self.at).ok_or(JsonFault::Incomplete)?;
            self.at += 1;
            match byte {
                b'"' => {
                    self.pass_string()?;
                    if !matches!(self.peek()?, b',' | b':' | b'}' | b']') {
                        return Err(JsonFault::Invalid);
                    }
                }
                b'{' | b'[' => {
                    if depth == MAX_DEPTH {
                        return Err(JsonFault::Invalid);
                    }
                    are_objects = are_objects << 1 | u128::from(byte == b'{');
                    depth += 1;
                }
                b'}' | b']' => {
                    if (are_objects & 1 == 1) != (byte == b'}') {
                        return Err(JsonFault::Invalid);
                    }
                    are_objects >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.bytes.get(start..self.at).unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Number of bytes of a string that are searched at a time.
const WORD_BYTES: usize = 8;
/// Number of such chunks after which a string counts as long.
const MAX_CHUNKS: usize = 8;
/// The number 1 in each byte.
const ONES: u64 = u64::MAX / 255;
/// The highest bit of each byte.
const HIGH_BITS: u64 = ONES << 7;

/// Returns the position of the first quote or backslash. Strings are short, so that this costs less than
/// [`memchr::memchr2`], to which long ones are left.
#[inline]
fn position_of_quote(bytes: &[u8]) -> Option<usize> {
    let (chunks, _) = bytes.as_chunks::<WORD_BYTES>();
    for (index, word) in chunks.iter().take(MAX_CHUNKS).enumerate() {
        let word = u64::from_le_bytes(*word);
        let zeros = |it: u64| it.wrapping_sub(ONES) & !it & HIGH_BITS;
        let found =
            zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            let byte = usize::try_from(found.trailing_zeros() / 8).ok()?;
            return Some(index * WORD_BYTES + byte);
        }
    }
    let searched = chunks.len().min(MAX_CHUNKS) * WORD_BYTES;
    let rest = bytes.get(searched..)?;
    memchr::memchr2(b'"', b'\\', rest).map(|it| searched + it)
}

impl<'a> JsonValue<'a> {
    /// Returns the text of a string without escapes, or of a number or literal.
    pub(crate) fn plain(self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => text.plain(),
            Self::Word(word) => Some(word),
            Self::Missing | Self::Nested(_) => None,
        }
    }

    /// Returns whether it is the literal `true`, or a number or text that means it.
    pub(crate) fn is_true(self) -> bool {
        matches!(self.plain(), Some(b"true" | b"True" | b"1"))
    }

    /// Returns the number that it states, as number or as text.
    pub(crate) fn integer(self) -> Option<i64> {
        super::decimal::scaled(self.plain()?, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<JsonValue<'_>, JsonFault> {
        JsonCursor::new(text.as_bytes()).value()
    }

    #[test]
    fn values_end_where_they_end() {
        let nested = r#"[{"a": "]}\"", "b": [1, {}]}, NaN]"#;
        assert_eq!(value(nested), Ok(JsonValue::Nested(nested.as_bytes())));
        assert_eq!(value(" -1.5e3,"), Ok(JsonValue::Word(b"-1.5e3")));
        let text = JsonText::new(br#"a\"b"#, false);
        assert_eq!(value(r#""a\"b" ,"#), Ok(JsonValue::Text(text)));
    }

    #[test]
    fn quotes_are_found_at_every_place() {
        for place in 0..200 {
            for quote in ["\"", "\\"] {
                let text = format!("{}{quote}\"\\", "é!".repeat(place));
                assert_eq!(position_of_quote(text.as_bytes()), Some(3 * place));
            }
            assert_eq!(position_of_quote(&vec![0xA2; place]), None);
        }
    }

    #[test]
    fn damage_is_found_where_it_is() {
        for text in ["[1}", r#"{"a": X", "b": "c"} "#, ":", r#"["a" "b"]"#] {
            assert_eq!(value(text), Err(JsonFault::Invalid), "{text}");
        }
        for text in ["", "[1", r#""ab"#, r#""ab\"#, "12"] {
            assert_eq!(value(text), Err(JsonFault::Incomplete), "{text}");
        }
        assert_eq!(value(&"[".repeat(1_000)), Err(JsonFault::Invalid));
    }

    #[test]
    fn members_are_passed_with_their_values() {
        let mut seen = Vec::new();
        let mut cursor = JsonCursor::new(br#"{ "a" : 1, "b": [ ], } x"#);
        let read = cursor.members(|key, value| seen.push((key.to_vec(), value)));
        assert_eq!(read, Ok(()));
        assert_eq!(seen[0], (b"a".to_vec(), JsonValue::Word(b"1")));
        assert_eq!(seen[1], (b"b".to_vec(), JsonValue::Nested(b"[ ]")));
        assert_eq!(cursor.peek(), Ok(b'x'));
    }
}
