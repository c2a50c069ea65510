//! stack2vec: embeddings of call stack trees, section 4.3 of the paper.
//!
//! The unordered doc2vec network (PV-DBOW, Le and Mikolov 2014): a tree is a document, its subtrees
//! are the words, and a subtree's frequency is its share of the tree's total weight. The hidden layer
//! holds a vector x_i (d numbers) per tree, the output layer a vector o_s and an offset c_s per
//! subtree. With p_is the shares (summing to [`WEIGHT_PER_TREE`] in each tree):
//!
//! ```text
//! full softmax        min  −Σ_i Σ_s p_is log softmax_s(x_i·o + c)          + λ/2 (|x|² + |o|²)
//! negative sampling   min  −Σ_i Σ_s p_is [log σ(x_i·o_s) + Σ_k log σ(−x_i·o_k)] + λ/2 (…)
//! ```
//!
//! trained by ADAM (Kingma and Ba 2014) on the whole batch. Negative sampling (Mikolov et al. 2013)
//! draws k other subtrees with probability ∝ frequency^0.75 for every pair of tree and subtree.
//!
//! The full softmax costs 6 n V d operations an epoch, in matrix products; negative sampling
//! 6 (k+1) · (pairs) · d, scattered over memory. A tree has hundreds of subtrees, so with
//! vocabularies of some 10⁴ sampling saves nothing and only adds noise: the default samples beyond
//! [`Stack2vecParams::softmax_up_to`] subtrees.
//!
//! The result depends on rows, settings and seed, not on the number of threads: sums over trees are
//! made in a fixed number of parts, added in order.
//!
//! [`WEIGHT_PER_TREE`]: WEIGHT_PER_TREE

mod adam;
mod block;
mod documents;
mod infer;
mod loss;
mod model;
mod noise;
mod params;
mod train;

pub use documents::{Documents, WEIGHT_PER_TREE};
pub use infer::infer;
pub use model::{OutputLayer, Stack2vec};
pub use params::{Objective, Stack2vecParams, ValidStack2vecParams};
pub use train::train;
