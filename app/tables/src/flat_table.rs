//! Tables whose rows are flat structures.

use std::marker::PhantomData;

use callgrove_export::{ResultTable, TableCell, TableColumn, record_cells};
use serde::Serialize;

/// A row with one plain value per column.
pub trait FlatRow: Serialize {
    /// Name of the table.
    const TABLE: &'static str;

    /// Returns the columns, one per field, in the order of the fields.
    fn columns() -> Vec<TableColumn>;
}

/// A table of flat rows. All formats have the same columns; text has rounded numbers.
pub struct FlatTable<R> {
    columns: Vec<TableColumn>,
    row: PhantomData<R>,
}

impl<R: FlatRow> Default for FlatTable<R> {
    fn default() -> Self {
        Self {
            columns: R::columns(),
            row: PhantomData,
        }
    }
}

impl<R: FlatRow> ResultTable for FlatTable<R> {
    type Row = R;

    fn name(&self) -> &str {
        R::TABLE
    }

    fn columns(&self) -> Vec<TableColumn> {
        self.columns.clone()
    }

    fn headings(&self) -> Vec<&str> {
        self.columns.iter().map(TableColumn::name).collect()
    }

    fn cells(&self, row: &R) -> Vec<String> {
        let cells = record_cells(self, row).unwrap_or_default();
        cells.iter().map(TableCell::rounded).collect()
    }

    fn record(&self, row: &R) -> impl Serialize {
        row
    }

    fn document(&self, row: &R) -> impl Serialize {
        row
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{DurationNs, ProgramId, RankId};
    use callgrove_session::{JudgedPattern, ListedPattern, PatternId, WaitCell};
    use callgrove_watch::{ExecutionDocument, FuncOverview, RunStats};

    use super::*;
    use crate::{
        CounterRow, DelayRootRow, FunctionRow, ListedPatternRow, RankWaitRow, RecordedRow,
    };

    /// Returns the columns and cells of a row; they would not fit together if a field had no column.
    fn written<R: FlatRow>(row: &R) -> String {
        let table = FlatTable::<R>::default();
        let cells = record_cells(&table, row).unwrap();
        let names = table.headings().into_iter();
        let pairs = names
            .zip(cells)
            .map(|(name, cell)| format!("{name}={}", cell.rounded()));
        pairs.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_field_has_a_column() {
        let cell = WaitCell {
            program: ProgramId(0),
            waiter: RankId(3),
            peer: RankId(1),
            num_waits: 7,
            total: DurationNs(2_500_000),
        };
        assert_eq!(
            written(&RankWaitRow::of(&cell)),
            "program=0 rank=3 waited_for_rank=1 num_waits=7 total_us=2500"
        );
        let pattern = ListedPattern {
            id: PatternId(4),
            name: "Step".to_owned(),
            num_occurrences: 20,
            num_lanes: 2,
            total: DurationNs(20_000),
            shortest: DurationNs(500),
            longest: DurationNs(3_000),
        };
        let judged = JudgedPattern {
            usual: DurationNs(900),
            limit: DurationNs(1_800),
            counts: [15, 3, 2],
            excess: DurationNs(2_100),
        };
        assert_eq!(
            written(&ListedPatternRow::of(&pattern, Some(&judged))),
            "pattern=4 name=Step num_occurrences=20 num_lanes=2 total_us=20 longest_us=3 reference_us=0.9 limit_us=1.8 \
             num_undecided=3 num_anomalous=2 excess_us=2.1"
        );
        let unjudged = written(&ListedPatternRow::of(&pattern, None));
        assert!(
            unjudged.ends_with("num_anomalous= excess_us="),
            "{unjudged}"
        );
    }

    #[test]
    fn rows_of_a_watched_run_have_their_statistics() {
        let stats = |accumulate, mean| RunStats {
            accumulate,
            mean,
            count: 4,
            ..RunStats::default()
        };
        let func = FuncOverview {
            fid: 2,
            name: "solve".to_owned(),
            exclusive: stats(400.0, 100.0),
            anomalies: stats(1.0, 0.5),
            ..FuncOverview::default()
        };
        let text = written(&FunctionRow::of(&func, 0.25));
        assert!(
            text.contains("function=solve calls=4 anomalies=1"),
            "{text}"
        );
        assert!(text.contains("exclusive_total_us=400"), "{text}");
        assert!(text.contains("share_of_anomalies=0.25"), "{text}");
        let record =
            ExecutionDocument::new(serde_json::json!({ "event_id": "0:1:2", "func": "f" }));
        let text = written(&RecordedRow::of(&record, None));
        assert!(text.starts_with("event_id=0:1:2 function=f"), "{text}");
        assert_eq!(CounterRow::columns().len(), 10);
        assert_eq!(DelayRootRow::columns().len(), 13);
    }
}
