//! Decisions which trees are abnormal: a statistic, its p-value and a false discovery rate.
//!
//! Three values are separate. The **score** orders trees. The **p-value** is the share of normal trees that deviate
//! at least as much. The **decision** classifies trees as abnormal such that about a given share of these is normal
//! (Benjamini and Hochberg 1995), over the set of examined trees. No threshold is stored: another set has another
//! one.
//!
//! | step | module |
//! |---|---|
//! | excess over *like* executions: same structure, lane and phase | [`Locations`] |
//! | executions that are longer in regular turns, compared with each other | [`Deviation::turn`] |
//! | structures that are rare by design, and the rarity of the others | [`Structures`] |
//! | the reasons, for display | [`ByDesign`] |
//! | rarity of an excess in normal trees | [`NullTail`], for another run [`NormalRanks`] |
//! | p-values that are discoveries | [`discoveries`] |
//! | the decision about all trees | [`TreeEvidence::decide`] |
//! | effect of labels on the trees around them | [`LabelReach`] |
//!
//! Everything is deterministic: sums have a fixed order, and parts that run in parallel are independent.

mod by_design;
mod call_sets;
mod class_location;
mod deviation;
mod discoveries;
mod drift;
mod evidence;
mod known_structures;
mod label_reach;
mod lane_cycles;
mod locations;
mod period;
mod placement;
mod quantiles;
mod structures;
mod tail;
mod tree_times;
mod turns;

pub use by_design::{ByDesign, DesignClass, DesignKind};
pub(crate) use call_sets::CallSets;
pub use deviation::Deviation;
pub use discoveries::{Discoveries, discoveries};
pub use evidence::normal_norm;
pub(crate) use evidence::observations;
pub use evidence::{Expectation, TimedEvidence, TreeEvidence};
pub use known_structures::KnownStructures;
pub(crate) use known_structures::StructureReference;
pub use label_reach::{LabelReach, LabelledRows, Votes};
pub(crate) use label_reach::{gamma_of_labels, prior};
pub use locations::Locations;
pub use placement::{Placement, TreePlace};
pub use structures::{StructureKind, Structures};
pub use tail::{NormalRanks, NullTail, Observation, SvmTail};
