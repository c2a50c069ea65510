//! The user's work on a run: labels and marks, and what the model is trained with.
//!
//! ```text
//! label    labels of trees and executions, and their CSV file
//! mark     marks of the time axis
//! model    settings of the model, use of a model file
//! edit     a change of all this, as it is stored
//! history  the state after some edits; undo and redo
//! journal  the lines that store the edits of a run
//! ```

mod edit;
mod history;
mod journal;
mod label;
mod mark;
mod model;

pub use edit::{Edit, LabelChange, ModelFile, SavedLabel, SavedState};
pub use history::{Effects, History, HistoryStep, ModelInputs, RootState};
pub use journal::{Journal, NewerJournal, Stamp, action_line, header_line, journal_run, root_line};
pub use label::{
    GivenLabel, LabelCsvError, LabelKey, LabelOrigin, LabelRow, LabelSet, TreeKey, by_tree,
    label_rows,
};
pub use mark::Mark;
pub use model::{ModelSettings, ModelUse};
