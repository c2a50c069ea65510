//! The families of forests.

use rand::Rng;

use super::draft::Grower;
use super::{recursive, reply, workflow};

/// The subject that the trees of a forest represent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Posts and their replies: heavy-tailed sizes; the seed determines which kinds answer which.
    Reply,
    /// Steps of a solver on an adaptive mesh, whose depth and width depend on the data.
    Recursive,
    /// Runs of a workflow: optional branches, retries, fan-outs that depend on the data.
    Workflow,
}

/// The unit of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightScale {
    pub(super) unit: &'static str,
    /// Number of units per unit of the functions' medians.
    pub(super) per_median: f64,
    /// Nanoseconds of the forest per unit.
    pub(super) ns_per_unit: i64,
}

/// Builds a tree; the number counts the trees of its rank.
pub(super) type GrowTree = Box<dyn Fn(&mut Grower<'_>, usize)>;

impl Family {
    /// All families.
    pub const ALL: [Self; 3] = [Self::Reply, Self::Recursive, Self::Workflow];

    /// Returns its name.
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
                // The convention of forest files for weights that are not times.
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
