//! Strings, and the characters that their escapes mean.

use std::borrow::Cow;

/// A string as it is written between its quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct JsonText<'a> {
    raw: &'a [u8],
    is_plain: bool,
}

/// A string with its escapes decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DecodedText<'a> {
    pub(crate) text: Cow<'a, str>,
    /// True if it contains something that JSON does not allow: control characters, bytes that are not UTF-8, half a
    /// pair of surrogates, or unknown escapes.
    pub(crate) is_irregular: bool,
}

impl<'a> JsonText<'a> {
    pub(crate) fn new(raw: &'a [u8], is_plain: bool) -> Self {
        Self { raw, is_plain }
    }

    /// Returns the bytes as written.
    pub(crate) fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// Returns the bytes if none is part of an escape.
    pub(crate) fn plain(self) -> Option<&'a [u8]> {
        self.is_plain.then_some(self.raw)
    }

    /// Returns the characters.
    pub(crate) fn decoded(self) -> DecodedText<'a> {
        let has_controls = self.raw.iter().any(|byte| *byte < b' ');
        let text = String::from_utf8_lossy(self.raw);
        let mut decoded = DecodedText {
            is_irregular: has_controls || matches!(text, Cow::Owned(_)),
            text,
        };
        if !self.is_plain {
            let (text, is_irregular) = unescaped(&decoded.text);
            decoded.text = Cow::Owned(text);
            decoded.is_irregular |= is_irregular;
        }
        decoded
    }
}

/// Returns a text with its escapes decoded, and whether some were not valid.
fn unescaped(text: &str) -> (String, bool) {
    let mut out = String::with_capacity(text.len());
    let (mut is_irregular, mut rest) = (false, text);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let mut after = escape.chars();
        after.next();
        let kind = after.next();
        rest = after.as_str();
        match kind {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let (character, length) = unicode(rest);
                is_irregular |= character.is_none();
                if length == 0 {
                    out.push_str("\\u");
                } else {
                    out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                rest = rest.get(length..).unwrap_or_default();
            }
            Some(other @ ('"' | '\\' | '/')) => out.push(other),
            // The writer did not escape its backslash, as in `torch\cuda`.
            other => {
                is_irregular = true;
                out.push('\\');
                out.extend(other);
            }
        }
    }
    out.push_str(rest);
    (out, is_irregular)
}

/// Returns the character of the digits after `\u`, with the second half of a pair of surrogates, and the length of all
/// that was used.
fn unicode(digits: &str) -> (Option<char>, usize) {
    let unit = |text: &str| u32::from_str_radix(text.get(..4)?, 16).ok();
    let Some(first) = unit(digits) else {
        return (None, 0);
    };
    if let Some(character) = char::from_u32(first) {
        return (Some(character), 4);
    }
    let second = digits.get(4..).and_then(|it| it.strip_prefix("\\u"));
    match (first, second.and_then(unit)) {
        (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) => {
            let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(joined), 10)
        }
        _ => (None, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &[u8], expected: &str, is_irregular: bool) {
        let is_plain = !raw.contains(&b'\\');
        let decoded = JsonText::new(raw, is_plain).decoded();
        assert_eq!(decoded.text, expected);
        assert_eq!(decoded.is_irregular, is_irregular, "{expected}");
    }

    #[test]
    fn escapes_and_pairs_of_surrogates_are_decoded() {
        check(br#"a\/b\\c\"d\n\t"#, "a/b\\c\"d\n\t", false);
        check(br"\u00e9 \ud83d\ude00.", "\u{e9} \u{1F600}.", false);
        check("é😀".as_bytes(), "é😀", false);
    }

    #[test]
    fn what_json_does_not_allow_is_kept_and_reported() {
        check(b"a\x01b\nc", "a\u{1}b\nc", true);
        check(b"a\xffb", "a\u{FFFD}b", true);
        check(br"\ud83d!", "\u{FFFD}!", true);
        check(br"\ud83d\u0041", "\u{FFFD}A", true);
        check(br"\u12", r"\u12", true);
        check(br"torch\cuda", r"torch\cuda", true);
        check(br"a\", r"a\", true);
    }
}
