//! The detector: a forest is embedded once; then scores follow quickly from the embedding and labels.
//!
//! ```text
//! Forest ─ Embedding::fit (slow, once) ─┬─ Detector::train (fast, after each label) ─ ModelArtifact
//!                           labels ─────┘                                               │
//!                           Forest of another run ───────────────────────────────── score
//! ```

mod embedding;
mod judgement;
mod listing;
mod model_file;
mod origin;
mod params;
mod run_evidence;
mod trained;
mod unseen;

pub use callgrove_model::Label;
pub use embedding::{Embedding, Features};
pub use judgement::{Judgement, Misfit, TreeModel, Yardstick};
pub use listing::{Cause, causes, is_alarm, listed_scores};
pub use model_file::{FeatureArtifact, MODEL_VERSION, ModelArtifact};
pub use origin::LabelDigest;
pub use params::{DecisionRule, DetectorParams, LabelRule, MapOf, ValidDetectorParams};
pub use trained::order_step;
pub use trained::{Detector, order_by_score};
pub use unseen::Unseen;
