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
//! trained by ADAM (Kingma and Ba 2014), λ = 0.001. Negatives (Mikolov et al. 2013) are k for every pair of tree
//! and subtree, with probability q ∝ frequency^0.75.
//!
//! # Deviations
//!
//! * Batches of at most 1,024 trees, drawn once: a tree's vector moves once an epoch, the output layer after each
//!   batch, with a step that falls to 0. Ten epochs achieve as much as fifty of whole batches.
//! * Negatives are not drawn pair by pair. The trees of a block of 128 share their words: all words of the trees,
//!   with the expected weight k q_s, and 32 drawn from the rest of q with the weight of that rest. So both objectives
//!   are products of small matrices: X O', then errors O and errors' X.
//! * With negative sampling the offsets of a layer are not part of its prediction: they hold ln q_s, so that new
//!   trees use the negatives of the training.
//! * The vectors are those that [`infer`] computes with the final output layer.
//!
//! # Cost and choice of the objective
//!
//! The full softmax costs 6 n V d operations an epoch and 4 n V d a step of the inference (L-BFGS, at most
//! 14), negative sampling the same (50 steps of ADAM) with the block's words (some 130) for V, and V d for
//! each batch.
//!
//! Generated forests of 5,792 trees, V = 871, 938 and 809 (two mixed, one with delays), d = 128, on cores
//! shared with other work: CPU seconds with inference, then ROC AUC / average precision of local outlier
//! factors of 20 neighbours and of the one-class SVM (ν = 0.02, γ = 1 / median d²). gensim 4.4 (first
//! forest, one worker, 50 epochs, training only; `benches/peers/gensim_doc2vec.py`):
//!
//! | | CPU s | first | second | third |
//! |---|---|---|---|---|
//! | softmax, 10 epochs (default) | 1.2 | .924/.267 .899/.303 | .934/.279 .883/.272 | .935/.257 .897/.405 |
//! | the same, λ = 0.01 | 1.2 | .923/.295 .904/.323 | .940/.336 .888/.234 | .932/.217 .905/.408 |
//! | softmax, 50 epochs | 3.4 | .931/.244 .899/.263 | .927/.287 .901/.300 | .921/.142 .891/.222 |
//! | negative sampling, 20 epochs | 0.8 | .889/.171 .843/.236 | .863/.198 .841/.237 | .900/.140 .827/.148 |
//! | gensim | 99 | .655/.079 .721/.132 | | |
//!
//! The second to fourth row have λ = 0.01, which suits generated forests but not real traces: with the seed of one
//! run, the average precision of the SVM is .206 on a trace of stopped ranks, and .357 with 0.001.
//!
//! Longer training does not find more: it spends the dimensions on subtrees that only one tree has. The softmax is
//! the default up to [`Stack2vecParams::softmax_up_to`] subtrees, since it ranks better; negative sampling finds
//! nearly as much in less time, and its cost does not grow with V. Inference takes 0.5 to 0.6 s of the default. 50
//! steps of ADAM took 1.7 s and ended further from the minimum of the loss, which ranked worse (first: .875/.242 with
//! the SVM).
//!
//! The result depends on rows, settings and seed, not on the number of threads: blocks are fixed, and
//! their sums are added in order.
//!
//! [`WEIGHT_PER_TREE`]: WEIGHT_PER_TREE

#![expect(
    clippy::inline_always,
    reason = "loops get the wide vectors of their caller only if they become part of it"
)]

mod adam;
mod block;
mod corpus;
mod infer;
mod lbfgs;
mod loss;
mod model;
mod noise;
mod params;
mod train;

pub use corpus::{Corpus, WEIGHT_PER_TREE};
pub use infer::infer;
pub use model::{OutputLayer, Stack2vec};
pub use params::{Objective, Stack2vecParams, ValidStack2vecParams};
pub use train::train;
