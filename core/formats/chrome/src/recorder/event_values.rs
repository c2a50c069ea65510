//! Values of an event: its time, and numbers for its ids.

use crate::events::for_members;
use crate::json::{JsonValue, scaled};

/// Number of decimal places of a microsecond that are whole nanoseconds.
const NUM_PLACES: i32 = 3;
/// Maximum time, in nanoseconds: 146 years. It leaves the range that sums of times need.
const MAX_TIME_NS: i64 = i64::MAX / 2;

/// Returns a time in nanoseconds, or `None` if it is missing or out of range.
#[inline]
pub(super) fn time_ns(value: JsonValue<'_>) -> Option<i64> {
    let time_ns = scaled(value.plain()?, NUM_PLACES)?;
    (-MAX_TIME_NS..=MAX_TIME_NS)
        .contains(&time_ns)
        .then_some(time_ns)
}

/// Returns the text of an id, which may be an object: `{"local": "0x1"}`.
pub(super) fn raw(value: JsonValue<'_>) -> &[u8] {
    let mut inner = None;
    for_members(value, |_, value| inner = inner.or(value.plain()));
    inner.or(value.plain()).unwrap_or_default()
}

/// Returns a number for texts.
pub(super) fn hash(texts: &[&[u8]]) -> u64 {
    let mut bytes = Vec::with_capacity(64);
    for text in texts {
        bytes.extend(*text);
        bytes.push(0);
    }
    callgrove_model::fnv1a(&bytes)
}
