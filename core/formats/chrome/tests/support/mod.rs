//! Writes traces as text, and reads them from memory.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use callgrove_chrome::ChromeFormat;
use callgrove_model::{Progress, Trace};
use callgrove_source::{MemoryFiles, OneByOne, Registry, SourceError};

/// A file in Kineto's layout.
#[derive(Clone, Default)]
pub(crate) struct KinetoText {
    /// Keys and values before the events.
    pub(crate) head: Vec<String>,
    pub(crate) events: Vec<String>,
    /// Keys and values after the events.
    pub(crate) tail: Vec<String>,
}

impl KinetoText {
    /// Returns a file that states its rank.
    pub(crate) fn of_rank(rank: u32) -> Self {
        let mut file = Self::default();
        file.head.push(r#""schemaVersion": 1"#.to_owned());
        file.head.push(format!(
            r#""distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}}"#
        ));
        file
    }

    /// Adds a call with times in microseconds; `args` are the members of an object.
    pub(crate) fn call(
        &mut self,
        category: &str,
        name: &str,
        row: (&str, &str),
        times: (&str, &str),
        args: &str,
    ) -> &mut Self {
        let ((pid, tid), (ts, dur)) = (row, times);
        self.event(&format!(
            r#""ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts}, "dur": {dur},
    "args": {{
      {args}
    }}"#
        ))
    }

    /// Adds an event with these members.
    pub(crate) fn event(&mut self, members: &str) -> &mut Self {
        self.events.push(format!("  {{\n    {members}\n  }}"));
        self
    }

    pub(crate) fn text(&self) -> String {
        let keys = |lines: &[String]| {
            lines
                .iter()
                .fold(String::new(), |all, it| all + "  " + it + ",\n")
        };
        let (head, tail) = (keys(&self.head), keys(&self.tail));
        let events = self.events.join(",\n");
        format!(
            "\n  {{\n{head}  \"traceEvents\": [\n{events}\n  ],\n{tail}  \"traceName\": \"a \\\"b\\\".json\"\n}}\n"
        )
    }
}

/// Reads a file of this name in the folder `run`.
pub(crate) fn read_as(name: &str, content: &[u8]) -> Result<Trace, SourceError> {
    read_all(&[(name, content)])
}

/// Reads the files of the folder `run`.
pub(crate) fn read_all(contents: &[(&str, &[u8])]) -> Result<Trace, SourceError> {
    let mut files = MemoryFiles::default();
    for (name, content) in contents {
        files.put(&format!("run/{name}"), content);
    }
    let registry = Registry::new(Arc::new(files), vec![Box::new(ChromeFormat)]);
    registry.load(Path::new("run"), &OneByOne, Progress::none())
}

/// Reads a file.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Result<Trace, SourceError> {
    read_as("trace.json", text.as_ref())
}

/// Returns the warnings as text: kind and count.
pub(crate) fn warnings(trace: &Trace) -> Vec<String> {
    let warnings = trace.warnings.iter();
    warnings
        .map(|it| format!("{:?} {}", it.kind, it.count))
        .collect()
}

/// Returns a gzip file.
pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::default();
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), level);
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

/// Returns a Zstandard file.
pub(crate) fn zstandard(text: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(text, level)
}
