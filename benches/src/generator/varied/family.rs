//! The families by name.

use rand::Rng;

use super::draft::Grower;
use super::{recursive, reply, workflow};

/// What the trees of a forest are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Posts and their replies: sizes with a heavy tail, who answers whom is drawn with the seed.
    Reply,
    /// Steps of a solver on an adaptive mesh, whose depth and width follow the data.
    Recursive,
    /// Runs of a workflow: optional branches, retries, fan-outs as wide as the data.
    Workflow,
}

/// What weights are measured in.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightScale {
    pub(super) unit: &'static str,
    /// Units in one of the medians of functions.
    pub(super) per_median: f64,
    /// What a forest takes one for.
    pub(super) ns_per_unit: i64,
}

/// Grows a tree; the number counts the trees of its rank.
pub(super) type GrowTree = Box<dyn Fn(&mut Grower<'_>, usize)>;

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reply, Self::Recursive, Self::Workflow];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Recursive => "recursive",
            Self::Workflow => "workflow",
        }
    }

    pub(super) fn scale(self) -> WeightScale {
        match self {
            Self::Reply => WeightScale {
                unit: "reads",
                per_median: 1.0,
                // As a forest file has it for what is no time.
                ns_per_unit: 1_000,
            },
            Self::Recursive | Self::Workflow => WeightScale {
                unit: "ns",
                per_median: 1_000.0,
                ns_per_unit: 1,
            },
        }
    }

    pub(super) fn program(self, rng: &mut impl Rng) -> GrowTree {
        match self {
            Self::Reply => {
                let forum = reply::Forum::draw(rng);
                Box::new(move |grower, _| forum.grow(grower))
            }
            Self::Recursive => Box::new(recursive::grow),
            Self::Workflow => Box::new(|grower, _| workflow::grow(grower)),
        }
    }
}
