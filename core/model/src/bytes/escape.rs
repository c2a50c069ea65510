//! Bytes as text: hexadecimal digits, and percent-encoding for URLs.

/// Returns bytes as hexadecimal digits, two each.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| digits_of(*byte, false));
    digits.collect()
}

/// Returns bytes as text for a URL: unchanged where `is_plain` is true, and otherwise as `%` and two hexadecimal
/// digits.
pub fn percent_encoded(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.extend(digits_of(byte, true));
        }
    }
    text
}

/// Returns the bytes that [`percent_encoded`] wrote. A `%` without two digits after it is kept as it is, and then the
/// second result is `false`.
pub fn percent_decoded(text: &str) -> (Vec<u8>, bool) {
    let (mut bytes, mut rest, mut is_whole) =
        (Vec::with_capacity(text.len()), text.as_bytes(), true);
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        is_whole &= decoded.is_some() || *first != b'%';
        rest = if decoded.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    (bytes, is_whole)
}

fn digits_of(byte: u8, is_upper: bool) -> [char; 2] {
    [byte >> 4, byte & 15].map(|half| {
        let digit = char::from_digit(half.into(), 16).unwrap_or('?');
        if is_upper {
            digit.to_ascii_uppercase()
        } else {
            digit
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(
            percent_encoded("a é".as_bytes(), |byte| byte == b'a'),
            "a%20%C3%A9"
        );
    }

    #[test]
    fn an_invalid_escape_is_kept() {
        assert_eq!(percent_decoded("100%"), (b"100%".to_vec(), false));
        assert_eq!(percent_decoded("%zz%41"), (b"%zzA".to_vec(), false));
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = percent_encoded(&bytes, |byte| byte.is_ascii_alphanumeric());
            prop_assert!(text.is_ascii());
            prop_assert_eq!(percent_decoded(&text), (bytes, true));
        }
    }
}
