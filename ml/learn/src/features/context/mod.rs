//! Surprise in context: the representation for forests in which nearly every tree has its own structure.
//!
//! If trees recur on data (adaptive meshes, threads of replies, workflows) there is no class of equal trees to
//! compare a tree with. Its parts still recur: a function under a caller. So each part is compared with the same part
//! elsewhere, and a tree is as surprising as its most surprising part:
//!
//! * **time**: a call took long for its context; or a subtree, or all calls of a function in the tree, for their
//!   parts; or the calls of a function took much of the tree's time;
//! * **extent**: the tree as a whole is long, high or wide;
//! * **edge**: a function is under a caller where it is rare, or hardly any tree has that edge;
//! * **callees**: a call has a rare set of callees, lacks a function that such calls nearly always call, or calls a
//!   function more often than such calls do;
//! * **place**: a function is deeper than elsewhere, or nested in itself more often.
//!
//! Each surprise is −ln of a probability, less ln of the number of parts (Bonferroni), so that neither large nor
//! small trees are anomalous for their size. The forest itself determines how large the largest such surprise of a
//! tree usually is: a row holds −ln of that probability, one number of each kind, in the column of its function.

mod law;
mod learn;
mod model;
mod surprise;
mod surprise_law;

pub use model::ContextModel;
pub use model::NUM_KINDS;
