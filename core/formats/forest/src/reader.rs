//! Reader of forests, line by line.

use std::io::{BufRead, Read};

use callgrove_model::{FuncId, Label, Progress, RankId, TimeNs, WeightUnit, fraction};
use serde::Deserialize;
use serde_json::Value;

use crate::builder::{ForestBuilder, ForestFile, PlainTree, Weights};
use crate::error::{ForestFileError, TreeFault};

/// The format names that a header may have.
pub(crate) const FORMATS: [&str; 2] = ["callgrove-forest", "cstree-forest"];
/// The supported version of the format.
const VERSION: u64 = 1;
/// Maximum weight and absolute time of entry, in ns.
const MAX_NS: i64 = 1 << 62;
/// Number of lines between two checks for cancellation.
const LINES_PER_REPORT: u64 = 256;

/// Limits of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForestFileLimits {
    /// Maximum length of a line. A line and its tree are all that is stored in addition to the forest.
    pub line_bytes: usize,
    /// Maximum number of different names.
    pub names: usize,
}

impl Default for ForestFileLimits {
    /// Returns 64 MiB per line (about 4 million vertices in a tree), and 2^17 names.
    fn default() -> Self {
        Self {
            line_bytes: 64 << 20,
            names: 1 << 17,
        }
    }
}

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
    #[serde(default = "nanoseconds")]
    unit: String,
    #[serde(default)]
    weights: Weights,
    #[serde(default, alias = "names")]
    functions: Vec<String>,
}

#[derive(Deserialize)]
struct TreeLine {
    id: Option<u32>,
    #[serde(default, alias = "node")]
    rank: u32,
    entry: Option<i64>,
    #[serde(default)]
    label: Value,
    parent: Vec<i64>,
    names: Option<Vec<String>>,
    #[serde(rename = "fn")]
    func: Option<Vec<u64>>,
    w: Vec<i64>,
}

fn nanoseconds() -> String {
    "ns".to_owned()
}

/// Reads a forest. `num_bytes` is the length of the text, for the progress; 0 if it is unknown.
///
/// # Errors
/// [`ForestFileError`]: the first error.
pub fn read_forest(
    text: impl BufRead,
    num_bytes: u64,
    limits: ForestFileLimits,
    progress: Progress<'_>,
) -> Result<ForestFile, ForestFileError> {
    let mut lines = Lines {
        text,
        line: 0,
        num_bytes_read: 0,
        limit_bytes: limits.line_bytes,
        buffer: Vec::new(),
    };
    let mut reader = ForestReader::begin(&mut lines, limits)?;
    while lines.advance()? {
        reader
            .take(&mut lines.buffer)
            .map_err(|error| error.at(lines.line))?;
        if lines.line.is_multiple_of(LINES_PER_REPORT) {
            progress.at(fraction(lines.num_bytes_read, num_bytes.max(1)))?;
        }
    }
    if reader.builder.is_empty() {
        return Err(ForestFileError::NoTrees);
    }
    progress.at(1.0)?;
    Ok(reader.builder.finish())
}

/// Lines that are not empty, one at a time.
struct Lines<R> {
    text: R,
    line: u64,
    num_bytes_read: u64,
    limit_bytes: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Fills the buffer with the next line; returns false at the end.
    fn advance(&mut self) -> Result<bool, ForestFileError> {
        loop {
            self.line += 1;
            self.buffer.clear();
            let limit = self.limit_bytes as u64 + 1;
            let read = self
                .text
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut self.buffer);
            let num_bytes = read.map_err(|cause| ForestFileError::Read {
                line: self.line,
                cause,
            })?;
            self.num_bytes_read += num_bytes as u64;
            if num_bytes > self.limit_bytes {
                return Err(ForestFileError::LineTooLong {
                    line: self.line,
                    limit_bytes: self.limit_bytes,
                });
            }
            if num_bytes == 0 {
                return Ok(false);
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }
}

/// The fault of a line, before the number of the line is known.
enum LineError {
    NoTree(serde_json::Error),
    Fault(TreeFault),
}

impl LineError {
    fn at(self, line: u64) -> ForestFileError {
        match self {
            Self::NoTree(cause) => ForestFileError::NoTree {
                line,
                cause: without_line(&cause),
            },
            Self::Fault(fault) => ForestFileError::BadTree { line, fault },
        }
    }
}

impl From<TreeFault> for LineError {
    fn from(fault: TreeFault) -> Self {
        Self::Fault(fault)
    }
}

/// Removes the line number from a parser error, since the parser counts lines within one line.
fn without_line(cause: &serde_json::Error) -> String {
    cause.to_string().replace(" at line 1 ", " at ")
}

struct ForestReader {
    builder: ForestBuilder,
    ns_per_unit: i64,
    /// Ids of the header's names.
    functions: Vec<FuncId>,
    max_names: usize,
    next_id: u32,
    func: Vec<FuncId>,
}

impl ForestReader {
    fn begin<R: BufRead>(
        lines: &mut Lines<R>,
        limits: ForestFileLimits,
    ) -> Result<Self, ForestFileError> {
        let has_header = lines.advance()?;
        let line = lines.line;
        let no_header = |cause: String| ForestFileError::NoHeader { line, cause };
        if !has_header {
            return Err(no_header("the file is empty".to_owned()));
        }
        let header: Header = serde_json::from_slice(&lines.buffer)
            .map_err(|cause| no_header(without_line(&cause)))?;
        if !FORMATS.contains(&header.format.as_str()) {
            return Err(no_header(format!("its format is {:?}", header.format)));
        }
        if header.version != VERSION {
            return Err(ForestFileError::Version {
                found: header.version,
            });
        }
        if header.functions.len() > limits.names {
            let limit = limits.names;
            let fault = TreeFault::TooManyNames { limit };
            return Err(ForestFileError::BadTree { line, fault });
        }
        let (unit, ns_per_unit) = WeightUnit::of_word(&header.unit);
        let mut builder = ForestBuilder::new(header.weights).with_unit(unit);
        let functions = header.functions.iter().map(|name| builder.intern(name));
        Ok(Self {
            functions: functions.collect(),
            builder,
            ns_per_unit,
            max_names: limits.names,
            next_id: 0,
            func: Vec::new(),
        })
    }

    fn take(&mut self, line: &mut [u8]) -> Result<(), LineError> {
        let mut tree: TreeLine = serde_json::from_slice(line).map_err(LineError::NoTree)?;
        self.name_vertices(&tree)?;
        for (vertex, weight) in tree.w.iter_mut().enumerate() {
            let fault = TreeFault::Weight {
                vertex,
                weight: *weight,
            };
            *weight = self.in_ns(*weight).filter(|&ns| ns >= 0).ok_or(fault)?;
        }
        let entry = match tree.entry {
            Some(entry) => Some(TimeNs(self.in_ns(entry).ok_or(TreeFault::Entry { entry })?)),
            None => None,
        };
        let id = tree.id.unwrap_or(self.next_id);
        self.next_id = id.saturating_add(1);
        self.builder.push(&PlainTree {
            id,
            rank: RankId(tree.rank),
            entry,
            label: label(&tree.label)?,
            parent: &tree.parent,
            func: &self.func,
            weight: &tree.w,
        })?;
        Ok(())
    }

    fn in_ns(&self, value: i64) -> Option<i64> {
        value
            .checked_mul(self.ns_per_unit)
            .filter(|ns| (-MAX_NS..=MAX_NS).contains(ns))
    }

    fn name_vertices(&mut self, tree: &TreeLine) -> Result<(), TreeFault> {
        self.func.clear();
        match (&tree.func, &tree.names) {
            (Some(func), None) => {
                for (vertex, &func) in func.iter().enumerate() {
                    let index = usize::try_from(func).unwrap_or(usize::MAX);
                    let known = self.functions.get(index);
                    self.func.push(*known.ok_or(TreeFault::UnknownName {
                        vertex,
                        func,
                        num_names: self.functions.len(),
                    })?);
                }
                Ok(())
            }
            (None, Some(names)) => {
                for name in names {
                    self.func.push(self.builder.intern(name));
                    if self.builder.num_names() > self.max_names {
                        let limit = self.max_names;
                        return Err(TreeFault::TooManyNames { limit });
                    }
                }
                Ok(())
            }
            _ => Err(TreeFault::NamesOrFn),
        }
    }
}

fn label(value: &Value) -> Result<Option<Label>, TreeFault> {
    match (value.as_i64(), value.as_str()) {
        (Some(1), _) | (_, Some("normal")) => Ok(Some(Label::Normal)),
        (Some(-1), _) | (_, Some("abnormal")) => Ok(Some(Label::Abnormal)),
        _ if value.is_null() => Ok(None),
        _ => Err(TreeFault::Label {
            label: value.to_string(),
        }),
    }
}
