//! Which trees are abnormal: a statistic, its p-value and a false discovery rate.
//!
//! Three things are kept apart. The **score** orders trees. The **p-value** is the share of normal trees
//! that stand out as much or more. The **decision** calls trees abnormal such that about a given share of
//! these is normal (Benjamini and Hochberg 1995), over the set of trees that is looked at. No threshold is
//! kept: another set has another one.
//!
//! | step | module |
//! |---|---|
//! | how much longer than *like* executions: same structure, lane and phase | [`Locations`] |
//! | which structures are rare by design, and how rare the others are | [`Structures`] |
//! | why they are so, to be shown | [`ByDesign`] |
//! | how rare an excess is where nothing is wrong | [`NullTail`] |
//! | which p-values are discoveries | [`discoveries`] |
//! | what labels say about the trees around them | [`LabelReach`] |
//!
//! All of it is deterministic: sums have a fixed order, and parts that run in parallel are independent.

mod by_design;
mod call_sets;
mod class_location;
mod discoveries;
mod drift;
mod evidence;
mod label_reach;
mod locations;
mod period;
mod placement;
mod quantiles;
mod structures;
mod svm_tail;
mod tail;
mod tail_fit;

pub use by_design::{ByDesign, DesignClass, DesignKind};
pub(crate) use call_sets::CallSets;
pub use discoveries::{Discoveries, discoveries};
pub use evidence::normal_norm;
pub(crate) use evidence::observations;
pub use evidence::{Expectation, TreeEvidence};
pub use label_reach::{LabelReach, LabelledRows, Votes};
pub(crate) use label_reach::{gamma_of_labels, prior};
pub use locations::{Deviation, Locations};
pub use placement::{Placement, TreePlace};
pub(crate) use structures::StructureReference;
pub use structures::{KnownStructures, StructureKind, Structures};
pub use svm_tail::SvmTail;
pub use tail::{NullTail, Observation};
