//! One table in every format, and in a format that this crate does not have.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result, Write};

use callgrove_export::{
    CsvSink, JsonSink, ResultTable, RowSink, TableCell, TableColumn, TextSink, UntypedTable,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Waits of a rank.
#[derive(Serialize)]
struct WaitRow {
    rank: u32,
    waited_us: f64,
    peers: Vec<u32>,
}

#[derive(Serialize)]
struct WaitRecord {
    rank: u32,
    waited_us: f64,
}

struct WaitTable;

impl ResultTable for WaitTable {
    type Row = WaitRow;

    fn name(&self) -> &'static str {
        "waits"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![TableColumn::int("rank"), TableColumn::float("waited_us")]
    }

    fn headings(&self) -> Vec<&str> {
        vec!["rank", "waited"]
    }

    fn cells(&self, row: &WaitRow) -> Vec<String> {
        vec![row.rank.to_string(), format!("{} µs", row.waited_us)]
    }

    fn record(&self, row: &WaitRow) -> impl Serialize {
        WaitRecord {
            rank: row.rank,
            waited_us: row.waited_us,
        }
    }

    fn document(&self, row: &WaitRow) -> impl Serialize {
        row
    }

    fn preface(&self) -> Option<impl Serialize> {
        Some(json!({ "num_ranks": 12 }))
    }
}

fn waits() -> [WaitRow; 2] {
    [(7, 0.5, vec![3]), (11, 1e-7, vec![])].map(|(rank, waited_us, peers)| WaitRow {
        rank,
        waited_us,
        peers,
    })
}

/// Writes rows with each sink, and returns the text of each: aligned text, CSV and JSON lines.
fn written<T: ResultTable>(table: &T, rows: &[T::Row]) -> Result<[String; 3]> {
    let mut out = [vec![], vec![], vec![]];
    {
        let [text, csv, json] = &mut out;
        let sinks: [Box<dyn RowSink<T> + '_>; 3] = [
            Box::new(TextSink::new(table, text)),
            Box::new(CsvSink::new(table, csv)?),
            Box::new(JsonSink::new(table, json)?),
        ];
        for mut sink in sinks {
            rows.iter().try_for_each(|row| sink.write(row))?;
            sink.finish()?;
        }
    }
    Ok(out.map(|bytes| String::from_utf8(bytes).expect("it is UTF-8")))
}

#[test]
fn each_format_has_its_form_of_a_row() {
    let [text, csv, json] = written(&WaitTable, &waits()).unwrap();
    assert_eq!(
        text,
        "rank        waited\n   7        0.5 µs\n  11  0.0000001 µs\n"
    );
    assert_eq!(csv, "rank,waited_us\n7,0.5\n11,1e-7\n");
    let lines = [
        r#"{"num_ranks":12}"#,
        r#"{"rank":7,"waited_us":0.5,"peers":[3]}"#,
        r#"{"rank":11,"waited_us":1e-7,"peers":[]}"#,
    ];
    assert_eq!(json, lines.join("\n") + "\n");
    let [text, csv, _] = written(&WaitTable, &[]).unwrap();
    assert_eq!(text, "rank  waited\n");
    assert_eq!(csv, "rank,waited_us\n");
}

#[test]
fn columns_of_run_time_are_a_header_even_without_rows() {
    let columns = ["event_id", "why, if known"].map(|name| TableColumn::text(name).optional());
    let table = UntypedTable::new("anomalies", &columns);
    let cells = vec![TableCell::from("0:1:2"), TableCell::Null];
    let rows = [(json!({ "event_id": "0:1:2" }), cells)];
    let [text, csv, json] = written(&table, &rows).unwrap();
    assert_eq!(text, "event_id  why, if known\n   0:1:2               \n");
    assert_eq!(csv, "event_id,\"why, if known\"\n0:1:2,\n");
    assert_eq!(json, "{\"event_id\":\"0:1:2\"}\n");
    let [_, csv, json] = written(&table, &[]).unwrap();
    assert_eq!(csv, "event_id,\"why, if known\"\n");
    assert_eq!(json, "");
}

#[test]
fn text_has_rounded_numbers_and_csv_all_digits() {
    let columns = [
        TableColumn::float("score"),
        TableColumn::text("words").optional(),
    ];
    let table = UntypedTable::new("scores", &columns);
    let rows = [(
        json!({}),
        vec![TableCell::Float(-0.500_342_9), TableCell::Null],
    )];
    let [text, csv, _] = written(&table, &rows).unwrap();
    assert_eq!(text, "score  words\n -0.5       \n");
    assert_eq!(csv, "score,words\n-0.5003429,\n");
}

/// A table whose records do not have its columns.
struct WrongTable;

impl ResultTable for WrongTable {
    type Row = WaitRow;

    fn name(&self) -> &'static str {
        "wrong"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![TableColumn::int("rank"), TableColumn::float("delay_us")]
    }

    fn headings(&self) -> Vec<&str> {
        vec![]
    }

    fn cells(&self, _: &WaitRow) -> Vec<String> {
        vec![]
    }

    fn record(&self, row: &WaitRow) -> impl Serialize {
        WaitTable.record(row)
    }

    fn document(&self, row: &WaitRow) -> impl Serialize {
        row
    }
}

#[test]
fn records_with_other_fields_than_the_columns_are_an_error() {
    let error = written(&WrongTable, &waits()).unwrap_err().to_string();
    assert!(error.contains("table wrong"), "{error}");
    assert!(
        error.contains("waited_us") && error.contains("delay_us"),
        "{error}"
    );
}

/// An output whose reader has closed the pipe.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_keeps_its_kind_of_error() {
    let table = WaitTable;
    let mut sink: Box<dyn RowSink<WaitTable>> = Box::new(CsvSink::new(&table, ClosedPipe).unwrap());
    let error = waits().iter().cycle().find_map(|row| sink.write(row).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::BrokenPipe);
}

/// Values by column, as a format such as Parquet stores them.
struct ColumnSink<'a, T> {
    table: &'a T,
    columns: &'a mut BTreeMap<String, Vec<Value>>,
}

impl<T: ResultTable> RowSink<T> for ColumnSink<'_, T> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        let record = serde_json::to_value(self.table.record(row))?;
        for (name, value) in record.as_object().into_iter().flatten() {
            self.columns
                .entry(name.clone())
                .or_default()
                .push(value.clone());
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_format_of_columns_is_one_more_sink() {
    let mut columns = BTreeMap::new();
    let mut sink: Box<dyn RowSink<WaitTable>> = Box::new(ColumnSink {
        table: &WaitTable,
        columns: &mut columns,
    });
    for row in waits() {
        sink.write(&row).unwrap();
    }
    sink.finish().unwrap();
    let expected = [
        ("rank", vec![json!(7), json!(11)]),
        ("waited_us", vec![json!(0.5), json!(1e-7)]),
    ];
    assert_eq!(
        columns,
        expected
            .map(|(name, values)| (name.to_owned(), values))
            .into()
    );
}
