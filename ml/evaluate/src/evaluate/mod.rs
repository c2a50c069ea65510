//! Table 3 of the paper for other data: how well methods find known anomalies, and how much labels help.
//!
//! [`Truth`] holds the class of each tree. [`Workbench`] returns the scores of a [`Method`]: of our detector, of the
//! paper's, or of a baseline on one of three kinds of rows. [`Quality`] rates scores: over all trees, over those
//! without a label, and for each kind of anomaly against the normal trees. In [`learning_curve`] an oracle that knows
//! the truth answers one question after another, and the detector is trained after each.

mod curve;
mod method;
mod quality;
mod truth;
mod workbench;

pub use curve::{CurveParams, CurvePoint, ValidCurveParams, learning_curve};
pub use method::{Method, RowsOf, UnknownMethod};
pub use quality::{Alarms, Quality};
pub use truth::{Class, Truth};
pub use workbench::Workbench;
