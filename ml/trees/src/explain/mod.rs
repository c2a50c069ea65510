//! Explanations: how an anomalous tree differs from the usual tree of its kind.
//!
//! The vertices of a tree that are reached along the same functions form one *call path* with a count and an
//! exclusive time ([`CallPaths`]); exclusive, so that a caller does not repeat the times of its callees. Trees with
//! the same paths, each about equally often, have one *shape*. The usual tree of a kind has, for each path, the
//! median count and time over normal trees ([`UsualTrees`]):
//!
//! * of the same shape, if most trees of that shape are normal and there are 8 or more;
//! * otherwise of the shape with the smallest sum of ln(all / trees of that shape) and of the number of paths by
//!   which the two differ: one path more or less counts as much as a shape that is e times as common. So a new
//!   structure is compared with the plain one, and not with another rare one (of output steps, say) that is slightly
//!   nearer by chance, but is not a usual one;
//! * otherwise, if nearly every tree has its own shape, of the dozen nearest normal trees. Sizes and times of
//!   complete trees vary there by nature, so single calls are compared: a call that took much longer than calls of
//!   that function by that caller do, one that hardly any tree has, and one that lacks a callee of nearly all calls
//!   of that function.
//!
//! A model stores the usual trees of its training ([`UsualArtifact`]), so that trees of a run whose training is not
//! loaded are explained by the same code.
//!
//! The differences are new or missing paths, more or fewer calls, and longer or shorter times ([`DifferenceKind`]).
//!
//! The paper (section 5.3.1) ranks subtrees by their weight in the distance to the nearest neighbours instead. On
//! real traces that ranks callers before callees, always names the root, and names a new function among the first
//! three in only 12 % of the cases: weights of nested inclusive times do not show where the time went, and neighbours
//! lack the paths that only this tree has. So there is one method, in paper mode too; it does not use the
//! representation.

mod calls;
mod compare;
mod difference;
mod merge;
mod order;
mod paths;
mod raw_difference;
mod shape;
mod usual;
mod usual_artifact;

pub use callgrove_model::DifferenceKind;
pub use difference::{Difference, TreeExplanation, explain};
pub use paths::CallPaths;
pub use usual::UsualTrees;
pub use usual_artifact::UsualArtifact;
