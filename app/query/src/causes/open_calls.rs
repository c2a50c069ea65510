//! The calls that ranks are in at the end of a run, as text and as rows.

use callgrove_model::{FunctionName, Trace};
use callgrove_segments::{OpenCall, open_calls};
use callgrove_trends::rank_ranges;
use serde::Serialize;

/// The innermost call that some ranks are in at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OpenCallRow {
    /// The function.
    pub function: String,
    /// The number of the call among those of the function on each rank, from 1; `None` if a rank cannot wait in it.
    pub number: Option<usize>,
    /// The program.
    pub program: u32,
    /// The ranks, ascending.
    pub ranks: Vec<u32>,
    /// Time from the first entry to the end of the run.
    pub since_us: i64,
}

/// Returns the innermost call that each rank is in at the end of a run, ranks in the same call together; empty if all
/// ranks have left their calls.
pub fn open_call_rows(trace: &Trace) -> Vec<OpenCallRow> {
    let row = |it: OpenCall| OpenCallRow {
        function: FunctionName::parse(trace.names.name(it.func))
            .full
            .to_owned(),
        number: it.number,
        program: it.program.0,
        ranks: it.ranks.iter().map(|rank| rank.0).collect(),
        since_us: it.since.as_us(),
    };
    open_calls(trace).into_iter().map(row).collect()
}

/// Returns the same as one sentence without a period: `Open at the end: ranks 0, 1 and 3 in MPI_Allreduce (call 41)
/// for 30 s, rank 2 in Work::step for 30.1 s`. `None` if no call is open.
pub fn open_calls_sentence(trace: &Trace) -> Option<String> {
    let clause = |it: OpenCall| {
        let name = FunctionName::parse(trace.names.name(it.func)).short;
        let number = it.number.map(|it| format!(" (call {it})"));
        format!(
            "{} in {name}{} for {}",
            rank_ranges(&it.ranks),
            number.unwrap_or_default(),
            it.since
        )
    };
    let clauses: Vec<String> = open_calls(trace).into_iter().map(clause).collect();
    (!clauses.is_empty()).then(|| format!("Open at the end: {}", clauses.join(", ")))
}
