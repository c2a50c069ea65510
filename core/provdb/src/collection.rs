//! The collections of the database, by the names that the Chimbuko schemas give them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A collection of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Collection {
    /// Anomalous executions, in the shard of their rank.
    Anomalies,
    /// Normal executions for comparison, in the shard of their rank.
    NormalExecs,
    /// Metadata of the run, in the shard of their rank.
    Metadata,
    /// Profile and anomalies of each function, global.
    FuncStats,
    /// Statistics of each counter, global.
    CounterStats,
    /// The final model of each function, global.
    AdModel,
    /// Incidents: executions of several ranks that one delay held up, and its origin; global.
    Incidents,
    /// Trends: persistent and slow changes of the run; global.
    Trends,
    /// Call stack trees, abnormal ones and a sample, in the shard of their rank.
    Trees,
}

impl Collection {
    /// All collections, in the order of the schemas; Callgrove's own last.
    pub const ALL: [Self; 9] = [
        Self::Anomalies,
        Self::NormalExecs,
        Self::Metadata,
        Self::FuncStats,
        Self::CounterStats,
        Self::AdModel,
        Self::Incidents,
        Self::Trends,
        Self::Trees,
    ];

    /// The collections of judged executions.
    pub const JUDGED: [Self; 2] = [Self::Anomalies, Self::NormalExecs];

    /// The collections whose documents belong to a step of a rank.
    pub const OF_STEPS: [Self; 3] = [Self::Anomalies, Self::NormalExecs, Self::Trees];

    /// Returns the name in the schemas, which is also that of its table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anomalies => "anomalies",
            Self::NormalExecs => "normalexecs",
            Self::Metadata => "metadata",
            Self::FuncStats => "func_stats",
            Self::CounterStats => "counter_stats",
            Self::AdModel => "ad_model",
            Self::Incidents => "incidents",
            Self::Trends => "trends",
            Self::Trees => "trees",
        }
    }

    /// Returns true if there is one for the whole run, instead of one in each shard.
    pub fn is_global(self) -> bool {
        matches!(
            self,
            Self::FuncStats | Self::CounterStats | Self::AdModel | Self::Incidents | Self::Trends
        )
    }

    /// Returns the JSON Schema (draft 2020-12) of its documents as they are read back, with `__id`.
    pub fn schema(self) -> &'static str {
        match self {
            Self::Anomalies | Self::NormalExecs => include_str!("../schema/execution.schema.json"),
            Self::Metadata => include_str!("../schema/metadata.schema.json"),
            Self::FuncStats => include_str!("../schema/func_stats.schema.json"),
            Self::CounterStats => include_str!("../schema/counter_stats.schema.json"),
            Self::AdModel => include_str!("../schema/ad_model.schema.json"),
            Self::Incidents => include_str!("../schema/incidents.schema.json"),
            Self::Trends => include_str!("../schema/trends.schema.json"),
            Self::Trees => include_str!("../schema/trees.schema.json"),
        }
    }
}

/// JSON Schema (draft 2020-12) of the packets that the parameter server streams.
pub const PACKET_SCHEMA: &str = include_str!("../schema/packet.schema.json");

/// The name is not that of a collection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such collection: use anomalies, normalexecs, metadata, func_stats, counter_stats, ad_model, incidents, trends or trees, not {0:?}"
)]
pub struct UnknownCollection(pub String);

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Collection {
    type Err = UnknownCollection;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|it| it.name() == name)
            .ok_or_else(|| UnknownCollection(name.to_owned()))
    }
}
