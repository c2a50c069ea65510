//! Subtrees of call stack trees: the accelerated Weisfeiler-Lehman relabelling of section 4.1 and the bag-of-subtrees
//! of section 4.2 of the paper.
//!
//! For every vertex v of height h (edges to its deepest descendant) there is one subtree of each degree 0..=h: v with
//! its descendants down to that depth, unordered unless [`Siblings::Ordered`] is selected. No vertex is relabelled
//! beyond its height (the paper's early stopping). A subtree's label is a 128-bit content hash of the function's name
//! and the labels of its children, so that every process, rank and run gives the same subtree the same label.
//!
//! # Algorithm
//!
//! The label of every degree follows from the complete subtree below a vertex, and there are few different complete
//! subtrees. So vertices are first sorted into classes of equal complete subtrees (one table lookup a vertex,
//! children before parents; the key is the function and a 128-bit number for its child classes). Only classes are
//! relabelled, and only different labels hashed. Cost: linear in vertices, plus classes × their degree. There is no
//! recursion, so trees may be of any depth.
//!
//! # Forests with too many subtrees
//!
//! If nearly every tree has its own structure, the number of subtrees grows with vertices times depth, and those of
//! large degree are all different: they show that trees differ, which those of small degree show too. So if there
//! would be more than [`MAX_SUBTREES`], the largest degree is lowered until there are not ([`Subtrees::max_degree`]).
//! It depends on the set of trees alone, and is stored in a model. Degree 1, a function with its callees, is always
//! kept.
//!
//! # New trees
//!
//! A label depends only on the subtree below its vertex: early stopping uses the height of the vertex, not that of
//! the forest. The paper also ends after (maximum depth of the forest − 1) iterations; no vertex is higher than that,
//! so leaving it out loses nothing. A cap below some heights would depend on the forest, and so change with every new
//! tree; it is therefore a setting ([`WlParams::max_degree`]), except for forests with too many subtrees: there a new
//! tree may lower it, and larger subtrees leave the corpus. So trees can join one by one ([`Relabeler`]), and the
//! subtrees and bags are those of all trees at once.

mod bags;
mod blocks;
mod classes;
mod labels;
pub mod mixing;
mod params;
mod relabel;
mod relabeler;
mod subtrees;
mod vocabulary;

pub use bags::{Bag, Bags};
pub use params::{Siblings, Signature, ValidWlParams, WlParams};
pub use relabel::{TreeLabels, label_tree, relabel, relabel_as};
pub use relabeler::{MAX_LABELS, MAX_SUBTREES, Relabeler};
pub use subtrees::Subtrees;
pub use vocabulary::{Subtree, SubtreeHash, SubtreeIdx, Vocabulary};
