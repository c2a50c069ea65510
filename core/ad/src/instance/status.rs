//! The status of an instance.

use std::ops::ControlFlow;
use std::time::Duration;

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_pserver::Link;
use callgrove_records::StorageStatus;

use crate::rank_trees::TreeOutcome;
use crate::tree_models::ModelFit;

/// Time after which the status of a waiting instance says why it waits.
pub(super) const STATUS_DELAY: Duration = Duration::from_secs(2);

/// A function that gets the status after each round; the instance ends when it breaks.
pub(super) trait OnStatus: FnMut(&Status) -> ControlFlow<()> {}
impl<T: FnMut(&Status) -> ControlFlow<()>> OnStatus for T {}

/// The status of an instance. All counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of I/O steps of all streams.
    pub num_steps: u64,
    /// Number of steps that the parameter server already knew. Their outliers are recorded, but not counted here.
    pub num_known_steps: u64,
    /// Number of function events.
    pub num_events: u64,
    /// Number of judged executions.
    pub num_executions: u64,
    /// Number of outliers.
    pub num_anomalies: u64,
    /// Number of call stack trees that a tree model judged.
    pub num_trees: u64,
    /// Number of abnormal trees.
    pub num_abnormal_trees: u64,
    /// The reason why the newest tree model is not used, if it is not.
    pub tree_trouble: Option<String>,
    /// Number of documents that the budget left out.
    pub num_left_out: u64,
    /// At the end: these documents by function, the most of a function first.
    pub left_out: Vec<(String, u64)>,
    /// The counts of stored documents.
    pub stored: StorageStatus,
    /// The reason why the parameter server cannot be reached, if it cannot.
    pub link_down: Option<String>,
    /// A message about streams that take long to open.
    pub opening: Option<String>,
    /// A message about missing contributions to the complete models, if the instance waits for them.
    pub awaited: Option<String>,
    /// Ranks that no instance reads, so that the models lack them.
    pub absent: Vec<RankId>,
    /// True if the final verdicts were made before the models included all known ranks.
    pub is_judged_early: bool,
    /// At the end: the rules, as written, that match no function.
    pub idle_rules: Vec<String>,
    /// Warnings of the streams that have ended.
    pub warnings: Warnings,
}

impl Status {
    /// Counts the trees of a step. Returns how well the models fit.
    pub(super) fn count_trees(&mut self, trees: TreeOutcome) -> Vec<ModelFit> {
        self.num_trees += trees.num_judged;
        self.num_abnormal_trees += trees.num_abnormal;
        trees.fits
    }

    /// Records why a tree model was put aside, if one was.
    pub(super) fn count_unfit(&mut self, unfit: Option<String>) {
        if let Some(why) = unfit {
            let place = || why.clone();
            self.warnings
                .count(WarningKind::TreeModelUnfit, None, place);
            self.tree_trouble = Some(why);
        }
    }

    pub(super) fn set_link(&mut self, link: Link) {
        self.link_down = match link {
            Link::Up => None,
            Link::Down { cause } => Some(cause),
        };
    }
}
