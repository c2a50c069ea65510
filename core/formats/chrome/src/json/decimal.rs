//! Decimal text as integers, exactly.

/// Maximum number of digits that may precede the exponent's: longer numbers are zeros or not times.
const MAX_DIGITS: i32 = 400;

/// Returns a decimal number times `10^num_places`, rounded to the nearest integer; `None` if the text is not a number
/// or does not fit. An exponent is allowed.
pub(crate) fn scaled(text: &[u8], num_places: i32) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mut value, mut num_digits, mut places) = (0_u64, 0, num_places);
    let mut is_fraction = false;
    let mut rest = digits.iter();
    let mut exponent = None;
    // The first digit after those that count.
    let mut next = None;
    while let Some(&byte) = rest.next() {
        match byte {
            b'0'..=b'9' => {
                num_digits += 1;
                if is_fraction && places <= 0 {
                    // Exponents are rare: a number with one is read again, as a whole.
                    next = next.or(Some(byte));
                    continue;
                }
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                places -= i32::from(is_fraction);
            }
            b'.' if !is_fraction => is_fraction = true,
            b'e' | b'E' if num_digits > 0 => {
                exponent = Some(rest.as_slice());
                break;
            }
            _ => return None,
        }
    }
    if let Some(exponent) = exponent {
        let exponent: i32 = std::str::from_utf8(exponent).ok()?.parse().ok()?;
        let length = digits.iter().position(|it| matches!(it, b'e' | b'E'))?;
        let value = shifted(digits.get(..length)?, num_places.checked_add(exponent)?)?;
        return signed(value, is_negative);
    }
    if num_digits == 0 {
        return None;
    }
    for _ in 0..places {
        value = value.checked_mul(10)?;
    }
    value = value.checked_add(u64::from(next >= Some(b'5')))?;
    signed(value, is_negative)
}

/// Returns digits with a point, times a power of ten, rounded.
fn shifted(digits: &[u8], power: i32) -> Option<u64> {
    let whole = digits.iter().position(|it| *it == b'.');
    let whole = i32::try_from(whole.unwrap_or(digits.len())).ok()?;
    let num_kept = whole.checked_add(power)?;
    let mut all = digits.iter().filter(|it| **it != b'.');
    let mut value = 0_u64;
    if num_kept > MAX_DIGITS {
        return all.all(|it| *it == b'0').then_some(0);
    }
    for _ in 0..num_kept {
        let digit = all.next().unwrap_or(&b'0');
        value = value
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    let rounds_up = num_kept >= 0 && all.next() >= Some(&b'5');
    value.checked_add(u64::from(rounds_up))
}

fn signed(value: u64, is_negative: bool) -> Option<i64> {
    let value = i64::try_from(value).ok()?;
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_nanoseconds_exactly() {
        let check = |text: &str, expected| {
            assert_eq!(scaled(text.as_bytes(), 3), expected, "{text}");
        };
        check("1712195495505543.2", Some(1_712_195_495_505_543_200));
        check("4203669604595.407", Some(4_203_669_604_595_407));
        check("0", Some(0));
        check("-1.0005", Some(-1_001));
        check("1.0004999", Some(1_000));
        check("+7.1", Some(7_100));
        check("1.5e3", Some(1_500_000));
        check("1.7121954955055432e+15", Some(1_712_195_495_505_543_200));
        check("12345.678e-2", Some(123_457));
        check("4e-4", Some(0));
        check("5E-4", Some(1));
        check("1e-30", Some(0));
        check("0e999", Some(0));
        check("9223372036854775.807", Some(i64::MAX));
    }

    #[test]
    fn what_is_no_number_or_does_not_fit_has_no_value() {
        let long = "1".repeat(400);
        for text in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "1e+-2",
            "1.2.3",
            "NaN",
            "0x10",
            "12a",
            "9223372036854775.808",
            "1e16",
            "1e99999999999",
            "1e2147483647",
            &long,
        ] {
            assert_eq!(scaled(text.as_bytes(), 3), None, "{text}");
        }
    }
}
