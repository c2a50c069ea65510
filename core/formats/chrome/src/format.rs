//! Chrome traces as a format: a file is a part of a run, with one rank or several.

use std::io::Read as _;

use callgrove_source::{Contents, Extent, Format, Input, SourceError, decoded_file};
use memchr::memmem;

use crate::decoder::ChromeDecoder;
use crate::text_reader::TextReader;

/// Number of bytes at the start of the text in which the keys of the format are.
const PROBE_BYTES: u64 = 64 << 10;

/// The format of Chrome traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChromeFormat;

impl Format for ChromeFormat {
    fn name(&self) -> &'static str {
        "Chrome JSON (Trace Event format: PyTorch, JAX, Perfetto exports)"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        if input.is_folder() {
            return false;
        }
        let Ok(reader) = TextReader::open(input) else {
            return false;
        };
        let mut start = Vec::new();
        // The text before an error counts.
        let _damage = reader.text.take(PROBE_BYTES).read_to_end(&mut start);
        is_trace(&start)
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(decoded_file(input, |input, rank| {
            Ok(Box::new(ChromeDecoder::open(input, rank)?))
        }))
    }
}

/// Returns whether a text begins as a trace: it is JSON with keys that only traces have together.
fn is_trace(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let text = text.trim_ascii_start();
    let has = |key: &str| memmem::find(text, format!("\"{key}\"").as_bytes()).is_some();
    let has_event = || has("ph") && (has("ts") || has("pid") || has("args"));
    match text.first() {
        Some(b'{') => {
            has("traceEvents")
                || (has("schemaVersion") && has("deviceProperties"))
                || has("baseTimeNanoseconds")
                || has("displayTimeUnit")
                || has_event()
        }
        Some(b'[') => has_event(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_differ_from_other_json() {
        for text in [
            r#"{"traceEvents": []}"#,
            r#" {"schemaVersion": 1, "deviceProperties": [], "a": "#,
            r#"{"displayTimeUnit": "ms", "#,
            r#"[{"name": "a", "ph": "X", "ts": 1}"#,
            "{\"ph\":\"M\",\"pid\":1,\"args\":{}}\n",
            "[\n{\"ph\":\"M\",\"pid\":1}",
        ] {
            assert!(is_trace(text.as_bytes()), "{text}");
        }
        for text in [
            r#"{"format":"callgrove-forest","version":1,"unit":"ns"}"#,
            r#"[{"rank": 0, "threads": 1, "transport_0": {}}]"#,
            "",
            "traceEvents",
        ] {
            assert!(!is_trace(text.as_bytes()), "{text}");
        }
    }
}
