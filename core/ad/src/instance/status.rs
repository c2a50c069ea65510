//! How an instance fares.

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_pserver::Link;

use crate::provenance_writer::StorageStatus;
use crate::rank_trees::TreeOutcome;
use crate::tree_models::ModelFit;

/// How an instance fares; all counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// I/O steps of all streams.
    pub num_steps: u64,
    /// Those that the parameter server knew already; their outliers are recorded, and not counted here.
    pub num_known_steps: u64,
    /// Function events.
    pub num_events: u64,
    /// Executions that were judged.
    pub num_executions: u64,
    /// Outliers among them.
    pub num_anomalies: u64,
    /// Call stack trees that a tree model judged.
    pub num_trees: u64,
    /// Abnormal ones among them.
    pub num_abnormal_trees: u64,
    /// Why the newest tree model is not used, if so.
    pub tree_trouble: Option<String>,
    /// What the provenance database has.
    pub stored: StorageStatus,
    /// Why the parameter server cannot be reached, if it cannot.
    pub link_down: Option<String>,
    /// What the job has not answered yet, in words, if that takes long.
    pub opening: Option<String>,
    /// Whose executions the models lack before all can be judged by the complete ones, in words.
    pub awaited: Option<String>,
    /// The ranks that nobody read, so that the models lack them.
    pub absent: Vec<RankId>,
    /// Whether all was judged for good before the models held everything of the ranks that are known.
    pub is_judged_early: bool,
    /// At the end: the rules, as they were written, that match no function.
    pub idle_rules: Vec<String>,
    /// What was found wrong in the streams that have ended.
    pub warnings: Warnings,
}

impl Status {
    /// Counts the trees of a step. The answer is how the models fared.
    pub(super) fn note_trees(&mut self, trees: TreeOutcome) -> Vec<ModelFit> {
        self.num_trees += trees.num_judged;
        self.num_abnormal_trees += trees.num_abnormal;
        if trees.trouble.is_some() {
            self.tree_trouble = trees.trouble;
        }
        trees.fits
    }

    /// Takes note of a tree model that was put aside, and why.
    pub(super) fn note_unfit(&mut self, unfit: Option<String>) {
        if let Some(why) = unfit {
            let place = || why.clone();
            self.warnings
                .count(WarningKind::TreeModelUnfit, None, place);
            self.tree_trouble = Some(why);
        }
    }

    pub(super) fn note_link(&mut self, link: Link) {
        self.link_down = match link {
            Link::Up => None,
            Link::Down { cause } => Some(cause),
        };
    }
}
