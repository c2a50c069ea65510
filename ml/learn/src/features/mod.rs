//! Representations of trees for the one-class SVM.
//!
//! | representation | row of a tree | source |
//! |---|---|---|
//! | [`Representation::ExcessRarity`] | excess time of every subtree over the usual, and the rarity of the structure
//! | this project |
//! |  | if nearly every tree has its own structure: how surprising its parts are in their context ([`ContextModel`])
//! | this project |
//! | [`Representation::PaperStack2vec`] | its stack2vec vector | section 4.3 of the paper |
//!
//! The default is not the paper's: a softmax uses shares of time only, so a tree that takes ten times as long
//! everywhere looks normal; and robust z-scores per subtree drown long waits in the noise of microsecond functions.
//! The excess is weighted by its share of the complete execution.

mod context;
mod excess;
mod params;
mod prior;
mod reference;
mod windows;

pub use context::ContextModel;
pub use context::NUM_KINDS;
pub use excess::{ExcessModel, Translation};
pub use params::{ExcessParams, GammaRule, Prior, Representation, ValidExcessParams};
pub use reference::tick;
pub use reference::{Reference, UsualTime};
pub use windows::Windows;
