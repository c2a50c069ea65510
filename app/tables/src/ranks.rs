//! The tables of waits: between which ranks, and where the delays began.

use callgrove_export::TableColumn;
use callgrove_session::{RootCause, RunCauses, WaitCell};
use serde::Serialize;

use crate::flat_table::FlatRow;

/// The waits of one rank for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RankWaitRow {
    program: u32,
    rank: u32,
    waited_for_rank: u32,
    num_waits: u64,
    total_us: i64,
}

/// A delay that a rank did not wait for: where it began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DelayRootRow {
    program: u32,
    rank: u32,
    thread: u32,
    function: String,
    kind: String,
    start_us: i64,
    end_us: i64,
    own_delay_us: i64,
    usual_us: i64,
    caused_us: i64,
    num_victims: u32,
    confidence_percent: u8,
    in_library: bool,
}

impl RankWaitRow {
    /// Returns the row of a cell of the matrix.
    pub fn of(cell: &WaitCell) -> Self {
        Self {
            program: cell.program.0,
            rank: cell.waiter.0,
            waited_for_rank: cell.peer.0,
            num_waits: cell.num_waits,
            total_us: cell.total.as_us(),
        }
    }
}

impl FlatRow for RankWaitRow {
    const TABLE: &'static str = "waits";

    fn columns() -> Vec<TableColumn> {
        vec![
            TableColumn::int("program"),
            TableColumn::int("rank"),
            TableColumn::int("waited_for_rank"),
            TableColumn::int("num_waits"),
            TableColumn::int("total_us"),
        ]
    }
}

impl DelayRootRow {
    /// Returns the row of a root.
    pub fn of(causes: &RunCauses, root: &RootCause) -> Self {
        let trace = causes.trace();
        let lane = trace.lane(root.lane);
        Self {
            program: lane.program.0,
            rank: root.rank.0,
            thread: lane.thread.0,
            function: trace.names.name(root.func).to_owned(),
            kind: root.kind.to_string(),
            start_us: root.start.as_us(),
            end_us: root.end.as_us(),
            own_delay_us: root.own_delay.as_us(),
            usual_us: root.usual.as_us(),
            caused_us: root.caused.as_us(),
            num_victims: root.num_victims,
            confidence_percent: root.confidence_percent,
            in_library: root.is_in_library,
        }
    }
}

impl FlatRow for DelayRootRow {
    const TABLE: &'static str = "roots";

    fn columns() -> Vec<TableColumn> {
        vec![
            TableColumn::int("program"),
            TableColumn::int("rank"),
            TableColumn::int("thread"),
            TableColumn::text("function"),
            TableColumn::text("kind"),
            TableColumn::int("start_us"),
            TableColumn::int("end_us"),
            TableColumn::int("own_delay_us"),
            TableColumn::int("usual_us"),
            TableColumn::int("caused_us"),
            TableColumn::int("num_victims"),
            TableColumn::int("confidence_percent"),
            TableColumn::bool("in_library"),
        ]
    }
}
