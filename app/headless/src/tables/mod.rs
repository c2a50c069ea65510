//! The tables of the commands, as descriptions of their rows.

mod causes;
mod patterns;
mod trees;

pub use causes::{CauseTable, IncidentTable};
pub use patterns::PatternTable;
pub use trees::TreeTable;
