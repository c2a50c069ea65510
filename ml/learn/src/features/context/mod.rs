//! Surprise in context: the representation for forests where nearly every tree has its own structure.
//!
//! Where trees recur on data (adaptive meshes, threads of replies, workflows) there is no class of equal
//! trees to compare a tree with. Its parts recur all the same: a function under a caller. So each part is
//! compared with the same part elsewhere, and a tree is as surprising as its most surprising part:
//!
//! * **time**: a call took long for what it is; or a subtree, or all calls of a function in the tree, for
//!   what they consist of; or the calls of a function took much of the tree's time;
//! * **extent**: the tree as a whole is long, high or wide;
//! * **edge**: a function stands under a caller where it hardly ever stands, or hardly any tree has that
//!   edge;
//! * **callees**: a call has a rare set of callees, lacks what such calls nearly always call, or calls a
//!   function more often than such calls do;
//! * **place**: a function stands deeper than elsewhere, or under itself more often.
//!
//! Each is −ln of a probability, less ln of the number of parts that were looked at (Bonferroni), so that
//! large trees do not stand out for being large, nor small ones for being small. How large the largest
//! such surprise of a tree usually is, the forest itself says: a row
//! holds −ln of that probability, one number of each kind, in the column of the function it is about.

mod law;
mod learn;
mod model;
mod surprise;
mod surprise_law;

pub use model::ContextModel;
pub use model::NUM_KINDS;
