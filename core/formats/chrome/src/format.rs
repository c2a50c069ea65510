//! Chrome traces as a format: a file is a part of a run, with one rank or several.

use std::io::Read as _;
use std::path::Path;

use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, FileDecoder as _, Format, Input, OrderingStream, Part,
    Projection, SourceError,
};
use memchr::memmem;

use crate::decoder::ChromeDecoder;
use crate::text_reader::TextReader;

/// Number of bytes at the start of the text in which the keys of the format are.
const PROBE_BYTES: u64 = 64 << 10;

/// The format of Chrome traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChromeFormat;

/// One file.
struct ChromePart {
    input: Input,
    assumed: Option<RankId>,
}

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
        // What was read before an error counts.
        let _damage = reader.text.take(PROBE_BYTES).read_to_end(&mut start);
        is_trace(&start)
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(Contents::Events(vec![Box::new(ChromePart {
            input: input.clone(),
            assumed: None,
        })]))
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

impl ChromePart {
    fn assumed_rank(&self) -> RankId {
        self.assumed.unwrap_or(RankId(0))
    }
}

impl Part for ChromePart {
    fn path(&self) -> &Path {
        self.input.path()
    }

    /// Returns the rank that was assumed: numbers in the names of such files are often those of processes.
    fn named_rank(&self) -> Option<RankId> {
        self.assumed
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.assumed = Some(rank);
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let mut decoder = ChromeDecoder::open(&self.input, self.assumed_rank())?;
        while decoder.read_on()? {
            if let Some(rank) = decoder.stated_rank() {
                return Ok(vec![(ProgramId(0), rank)]);
            }
        }
        let run = Box::new(decoder).finish();
        let ranks = run.ranks.into_keys();
        Ok(ranks.map(|rank| (ProgramId(0), rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let decoder = ChromeDecoder::open(&self.input, self.assumed_rank())?;
        Ok(Box::new(OrderingStream::new(Box::new(decoder), projection)))
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
