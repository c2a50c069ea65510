//! How well methods and models find anomalies, as tables, JSON and plots.
//!
//! ```text
//!  true labels (CSV) ── TruthTable ──▶ truth ─┐
//!  forest ────────────────────────────────────┼─ MethodComparison ──▶ ComparisonReport ─┬─▶ text, JSON
//!  methods, strategies, numbers of labels ────┘   (callgrove_evaluate)                  ├─▶ measurements
//!                                                                                       └─▶ PlotFile: SVG, PNG
//!  forest, model ─┬─ truth ─────────▶ ModelEvaluation
//!                 ├─ another model ─▶ changed_trees
//!                 ├─ labels ────────▶ PublicationTrial
//!                 └─ alone ─────────▶ model_row, model_json, print_model: what it was learned from
//! ```
//!
//! Callers pass in texts and forests, and write what is returned. The measures themselves are in `callgrove_evaluate`.

mod comparison_report;
mod measurements;
mod method_comparison;
mod model;
mod plot;
mod truth_table;

pub use comparison_report::{ComparisonReport, CurveReport, MethodReport};
pub use measurements::{Measurement, MeasurementTable, measurement_rows};
pub use method_comparison::{MethodComparison, StageMonitor};
pub use model::{
    ChangedTree, ModelChangeTable, ModelEvaluation, PublicationTrial, changed_trees, model_json,
    model_row, print_model,
};
pub use plot::PlotFile;
pub use truth_table::TruthTable;
