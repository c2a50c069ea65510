//! Subtrees of call stack trees: the accelerated Weisfeiler-Lehman relabelling of section 4.1 and
//! the bag-of-subtrees of section 4.2 of the paper.
//!
//! For every vertex v of height h (edges to its deepest descendant) there is one subtree of each
//! degree 0..=h: v with its descendants down to that depth, in no order. No vertex is relabelled
//! beyond its height (the paper's early stopping). A subtree's label is a 128-bit content hash of
//! the function's name and the multiset of the labels of its children, so that every process, rank
//! and run gives the same subtree the same label.
//!
//! # How
//!
//! The label of every degree follows from the whole subtree below a vertex, and there are few
//! different whole subtrees. So vertices are first sorted into classes of equal whole subtrees (one
//! table look-up a vertex, children before parents; the key is the function and the sum of one
//! 128-bit number per child class, which no order of children can change), and only classes are
//! relabelled and hashed. Cost: linear in vertices, plus classes × their degree.

mod bags;
mod classes;
mod labels;
mod params;
mod relabel;
mod vocabulary;

pub use bags::{Bag, Bags};
pub use params::{Signature, ValidWlParams, WlParams};
pub use relabel::{Subtrees, TreeLabels, label_tree, relabel};
pub use vocabulary::{Subtree, SubtreeHash, SubtreeIdx, Vocabulary};
