//! Forests as text: any directed trees with weights, whatever they are trees of (section 6.6 of the
//! paper), as JSON lines.
//!
//! The first line is a header, every other line is one tree:
//!
//! ```text
//! {"format":"callgrove-forest","version":1,"unit":"ns","functions":["compute","send"]}
//! {"id":0,"rank":0,"entry":10,"parent":[-1,0,0],"fn":[0,1,1],"w":[90,20,30]}
//! {"id":1,"parent":[-1,0],"names":["compute","send"],"w":[70,25]}
//! ```
//!
//! | field of the header | |
//! |---|---|
//! | `format` | `callgrove-forest` or `cstree-forest` |
//! | `version` | 1 |
//! | `unit` | of all weights and entries: `ns`, `us`, `ms`, `s`, or any other word for what is not a time; `ns` if left out |
//! | `weights` | `inclusive` (if left out): a weight is that of the whole subtree, as a duration is, and is taken as it stands. `own`: a weight is that of the vertex alone, and weights of subtrees are their sums |
//! | `functions` | names that `fn` counts from 0; may be left out if every tree has `names` |
//!
//! | field of a tree | |
//! |---|---|
//! | `parent` | for each vertex the place of its parent, which stands before it; -1 for the root, which is first. The order of siblings is that of the lines' lists |
//! | `fn` or `names` | what each vertex is: places in `functions`, or words. A name says what kind of thing a vertex is (a function, a field of research, a type of post), not which one |
//! | `w` | weight of each vertex, a whole number from 0 on. A parent may weigh less than its children |
//! | `id` | number of the tree, each once; counted from 0 if left out |
//! | `rank` (or `node`) | the group that the tree belongs to; 0 if left out |
//! | `entry` | when it began; trees of a rank stand in order of entry. That of the tree before if left out |
//! | `label` | what is known of it: 1 or `normal`, -1 or `abnormal`. It is kept for comparison ([`ForestFile::labels`]) and never learned |
//!
//! Other fields and empty lines are passed over. Trees may be of any depth. What does not fit is a
//! [`ForestFileError`] with its line.
//!
//! # As a forest of call stack trees
//!
//! Each tree becomes a tree of a [`Forest`](callgrove_model::Forest), each rank a lane. Vertices are
//! put in pre-order. What is called inclusive time elsewhere is the weight of the subtree, exclusive
//! time that less the weights of the children (0 if the children weigh more), all in nanoseconds; one of
//! a unit that is no time is kept as a microsecond, and [`callgrove_model::WeightUnit`] says what it is.
//! All vertices of a tree have the entry of the root. A tree's event label is
//! `rank:0:id`, its code `#rank-n` for the n-th tree of the rank.

mod builder;
mod error;
mod reader;

pub use builder::{ForestBuilder, ForestFile, PlainTree, Weights};
pub use error::{ForestFileError, TreeFault};
pub use reader::{ForestFileLimits, read_forest};
