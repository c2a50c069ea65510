//! Why a tree stands out: what sets it apart from the usual tree of its kind.
//!
//! The vertices of a tree that are reached along the same functions become one *call path* with a count
//! and an exclusive time ([`CallPaths`]); exclusive, so that a caller never repeats what it called. Trees
//! with the same paths, about as often each, have one *shape*. The usual tree of a kind has, for each path,
//! the median count and time over normal trees ([`UsualTrees`]):
//!
//! * of the same shape, if most trees of it are normal and there are 8 or more;
//! * else of the shape with the least sum of ln(all / trees of that shape) and of the number of paths by
//!   which the two differ: a path more or less is worth that a shape is e times as common. So a structure
//!   that is new is compared with the plain one, and not with another rare one (of output steps, say) that
//!   happens to be a little nearer, but is no example of what is usual;
//! * else, where nearly every tree has a shape of its own, of the dozen nearest normal trees. Sizes and
//!   times of whole trees vary there by nature, so what counts is what is odd in single calls: one that
//!   took far longer than calls of that function by that caller do, one that hardly any tree has, and
//!   one that lacks what nearly all calls of that function call.
//!
//! A model keeps what is usual in its training ([`UsualArtifact`]), so that trees of a run that is not at hand are
//! explained by the same code.
//!
//! What differs then is new, missing, called more or less often, longer or shorter ([`DifferenceKind`]).
//!
//! The paper (section 5.3.1) ranks subtrees by their weight in the distance to the nearest neighbours
//! instead. On real traces that names callers before callees, the root always, and a new function in 12 %
//! of the cases among the first three: weights of nested inclusive times cannot tell where the time went,
//! and what a tree has alone is in no neighbour. So there is one way, in paper mode too; it needs nothing
//! from the representation.

mod calls;
mod compare;
mod difference;
mod found;
mod kept;
mod merge;
mod order;
mod paths;
mod shape;
mod usual;

pub use callgrove_model::DifferenceKind;
pub use difference::{Difference, TreeExplanation, explain};
pub use kept::UsualArtifact;
pub use paths::CallPaths;
pub use usual::UsualTrees;
