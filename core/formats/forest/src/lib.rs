//! Forests as text: any directed trees with weights, whatever they represent (section 6.6 of the paper), as JSON
//! lines.
//!
//! The first line is a header, every other line is one tree:
//!
//! ```text
//! {"format":"callgrove-forest","version":1,"unit":"ns","functions":["compute","send"]}
//! {"id":0,"rank":0,"entry":10,"parent":[-1,0,0],"fn":[0,1,1],"w":[90,20,30]}
//! {"id":1,"parent":[-1,0],"names":["compute","send"],"w":[70,25]}
//! ```
//!
//! Fields of the header:
//!
//! - `format`: `callgrove-forest` or `cstree-forest`.
//! - `version`: 1.
//! - `unit`: the unit of all weights and entries: `ns`, `us`, `ms`, `s`, or any other word for a unit that is not a
//!   time. Default: `ns`.
//! - `weights`: with `inclusive` (the default), a weight is that of the complete subtree, as for a duration, and is used
//!   unchanged. With `own`, a weight is that of the vertex alone, and weights of subtrees are their sums.
//! - `functions`: the names to which `fn` refers, counted from 0. It may be left out if every tree has `names`.
//!
//! Fields of a tree:
//!
//! - `parent`: for each vertex the index of its parent, which comes before it; -1 for the root, which is first. The
//!   order of siblings is that of the lists.
//! - `fn` or `names`: the kind of each vertex, as an index in `functions` or as a name. A name is a kind of vertex (a
//!   function, a field of research, a type of post), not its identity.
//! - `w`: the weight of each vertex, a whole number of at least 0. A parent may weigh less than its children.
//! - `id`: the number of the tree, which is unique. Default: counted from 0.
//! - `rank` (or `node`): the group that the tree belongs to. Default: 0.
//! - `entry`: the time of its start; trees of a rank are in order of entry. Default: that of the previous tree.
//! - `label`: its known label: 1 or `normal`, -1 or `abnormal`. It is stored for comparison ([`ForestFile::labels`])
//!   and never used for learning.
//!
//! Other fields and empty lines are ignored. Trees may be of any depth. An invalid line is a [`ForestFileError`] with
//! its number.
//!
//! # As a forest of call stack trees
//!
//! Each tree becomes a tree of a [`Forest`](callgrove_model::Forest), each rank a lane. Vertices are put in
//! pre-order. The inclusive time of a vertex is the weight of its subtree, and the exclusive time is that less the
//! weights of the children (0 if the children weigh more), all in nanoseconds. A weight whose unit is not a time is
//! stored as microseconds, and [`callgrove_model::WeightUnit`] holds its unit. All vertices of a tree have the entry
//! of the root. A tree's event label is `rank:0:id`, its code `#rank-n` for the n-th tree of the rank.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod builder;
mod error;
mod format;
mod reader;

pub use builder::{ForestBuilder, ForestFile, PlainTree, Weights};
pub use error::{ForestFileError, TreeFault};
pub use format::ForestFormat;
pub use reader::{ForestFileLimits, read_forest};
