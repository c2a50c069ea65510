//! Texts of a trace.

use callgrove_model::{MAX_NAME_BYTES, WarningKind, Warnings, storable_text};

/// Returns a text that can be stored. Bytes that are not UTF-8 are replaced, a long text is cut, and both are counted.
pub(crate) fn text(bytes: &[u8], warnings: &mut Warnings) -> String {
    let read = String::from_utf8_lossy(bytes);
    let stored = storable_text(&read, MAX_NAME_BYTES);
    if stored.as_bytes() != bytes {
        warnings.count(WarningKind::TextChanged, None, || {
            stored.chars().take(80).collect::<String>()
        });
    }
    stored.into_owned()
}
