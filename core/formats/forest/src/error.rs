//! Errors of forest files.

use callgrove_model::Cancelled;

/// The reason why a forest file is invalid: the line, the fault, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ForestFileError {
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The file is compressed.
    #[error("it is compressed; decompress it first, such as with gunzip --keep")]
    Compressed,
    /// The bytes cannot be read.
    #[error("line {line} cannot be read: {cause}")]
    Read {
        /// Line, counted from 1.
        line: u64,
        /// The error of the reader.
        cause: std::io::Error,
    },
    /// A line is longer than allowed.
    #[error("line {line} is longer than {limit_bytes} bytes; each tree has a line of its own")]
    LineTooLong {
        /// Line, counted from 1.
        line: u64,
        /// The longest line allowed.
        limit_bytes: usize,
    },
    /// The first line is not a header.
    #[error(
        "line {line} is not a header ({cause}); a forest file begins with a line such as \
         {{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"ns\",\"functions\":[\"a\",\"b\"]}}"
    )]
    NoHeader {
        /// Line, counted from 1.
        line: u64,
        /// The fault of the line.
        cause: String,
    },
    /// The file has a newer version than this program supports.
    #[error("the file has version {found}, but only version 1 is known; use a newer Callgrove")]
    Version {
        /// Version of the file.
        found: u64,
    },
    /// A line is not a JSON object with the fields of a tree.
    #[error(
        "line {line} is not a tree ({cause}); a tree is an object with lists of whole numbers, such as \
         {{\"parent\":[-1,0],\"fn\":[0,1],\"w\":[9,4]}}"
    )]
    NoTree {
        /// Line, counted from 1.
        line: u64,
        /// The error of the parser, with the column.
        cause: String,
    },
    /// A tree has inconsistent fields.
    #[error("line {line}: {fault}")]
    BadTree {
        /// Line, counted from 1.
        line: u64,
        /// The inconsistency.
        fault: TreeFault,
    },
    /// There is a header and nothing else.
    #[error("the file has no trees; each line after the header is one")]
    NoTrees,
}

/// A fault of a tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TreeFault {
    /// No vertices.
    #[error("the tree has no vertices; leave the line out")]
    Empty,
    /// The lists differ in length.
    #[error(
        "{parents} parents, {names} names and {weights} weights; each vertex needs one of each"
    )]
    Lengths {
        /// Length of `parent`.
        parents: usize,
        /// Length of `fn` or `names`.
        names: usize,
        /// Length of `w`.
        weights: usize,
    },
    /// Neither `fn` nor `names`, or both.
    #[error("a tree has either `fn` or `names`")]
    NamesOrFn,
    /// The first vertex is not a root.
    #[error("the parent of vertex 0 is {parent}; the first vertex is the root, with parent -1")]
    Root {
        /// Its parent.
        parent: i64,
    },
    /// A parent is not a vertex before its child.
    #[error(
        "the parent of vertex {vertex} is {parent}; it must come before its child (0 to {}), and \
         only vertex 0 has none", vertex - 1
    )]
    Parent {
        /// The vertex.
        vertex: usize,
        /// Its parent.
        parent: i64,
    },
    /// A number is not an index of the header's table.
    #[error(
        "vertex {vertex} has fn {func}, but `functions` of the header has {num_names} names, counted from 0"
    )]
    UnknownName {
        /// The vertex.
        vertex: usize,
        /// Its number.
        func: u64,
        /// Number of names in the table.
        num_names: usize,
    },
    /// A weight is negative or too large.
    #[error(
        "vertex {vertex} has weight {weight}; weights go from 0 to 2^62 ns (2^52 if the unit is not a \
         time), so add or scale all of them"
    )]
    Weight {
        /// The vertex.
        vertex: usize,
        /// Its weight.
        weight: i64,
    },
    /// A time of entry is out of range.
    #[error("entry is {entry}, which is beyond 2^62 ns; count from a later start")]
    Entry {
        /// The entry in the file.
        entry: i64,
    },
    /// The trees of a rank are not in order of entry.
    #[error(
        "the tree begins before the previous one on rank {rank}; sort the lines of a rank by entry"
    )]
    EntryGoesBack {
        /// The rank.
        rank: u32,
    },
    /// An id is not unique.
    #[error("id {id} is not unique; give each tree its own id, or leave all ids out")]
    SameId {
        /// The id.
        id: u32,
    },
    /// A label is invalid.
    #[error("label is {label}; it is 1 or \"normal\", -1 or \"abnormal\", or left out")]
    Label {
        /// The value in the file.
        label: String,
    },
    /// More names than allowed.
    #[error("more than {limit} different names; a name is the kind of a vertex, not its identity")]
    TooManyNames {
        /// The maximum number of names.
        limit: usize,
    },
    /// More vertices than a rank holds.
    #[error("rank {rank} has more than {limit} vertices; spread its trees over several ranks")]
    TooManyVertices {
        /// The rank.
        rank: u32,
        /// The maximum number of vertices.
        limit: usize,
    },
}
