//! Tables as Parquet files, read back.

use std::fs::File;
use std::io::Result;

use callgrove_export::{ColumnType, ParquetSink, RowSink, TableCell, TableColumn, UntypedTable};
use parquet::basic::{ConvertedType, Repetition, Type};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

type Rows = Vec<((), Vec<TableCell>)>;

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::bool("abnormal"),
        TableColumn::int("rank").optional(),
        TableColumn::new("hash", ColumnType::UInt),
        TableColumn::float("waited_us"),
        TableColumn::text("words").optional(),
    ]
}

fn written(columns: &[TableColumn], rows: &Rows) -> Result<File> {
    let table = UntypedTable::<()>::new("waits", columns);
    let file = tempfile::tempfile()?;
    let mut sink: Box<dyn RowSink<_> + '_> = Box::new(ParquetSink::new(&table, &file)?);
    rows.iter().try_for_each(|row| sink.write(row))?;
    sink.finish()?;
    Ok(file)
}

fn reader(file: File) -> SerializedFileReader<File> {
    SerializedFileReader::new(file).expect("a Parquet file")
}

fn row(words: Option<&str>) -> Vec<TableCell> {
    vec![
        TableCell::Bool(true),
        words.map_or(TableCell::Null, |_| TableCell::Int(-3)),
        TableCell::UInt(u64::MAX),
        TableCell::Float(0.1),
        words.into(),
    ]
}

#[test]
fn values_are_read_back_with_their_types() {
    let rows = [Some("late"), None].map(|words| ((), row(words)));
    let reader = reader(written(&columns(), &rows.into()).unwrap());
    let read: Vec<Vec<Field>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().into_columns().into_iter())
        .map(|columns| columns.map(|(_, field)| field).collect())
        .collect();
    let of_all = [
        Field::Bool(true),
        Field::Null,
        Field::ULong(u64::MAX),
        Field::Double(0.1),
        Field::Null,
    ];
    assert_eq!(read[1], of_all);
    let [abnormal, _, hash, waited, _] = of_all;
    let words = Field::Str("late".to_owned());
    assert_eq!(read[0], [abnormal, Field::Long(-3), hash, waited, words]);
}

#[test]
fn a_table_without_rows_has_its_columns_and_units() {
    let reader = reader(written(&columns(), &Rows::new()).unwrap());
    let metadata = reader.metadata();
    let file = metadata.file_metadata();
    assert_eq!((file.num_rows(), metadata.num_row_groups()), (0, 0));
    let fields = file.schema().get_fields().iter();
    let fields: Vec<_> = fields
        .map(|field| {
            let info = field.get_basic_info();
            let types = (field.get_physical_type(), info.converted_type());
            (
                info.name(),
                types,
                info.repetition() == Repetition::OPTIONAL,
            )
        })
        .collect();
    let expected = [
        ("abnormal", (Type::BOOLEAN, ConvertedType::NONE), false),
        ("rank", (Type::INT64, ConvertedType::NONE), true),
        ("hash", (Type::INT64, ConvertedType::UINT_64), false),
        ("waited_us", (Type::DOUBLE, ConvertedType::NONE), false),
        ("words", (Type::BYTE_ARRAY, ConvertedType::UTF8), true),
    ];
    assert_eq!(fields, expected);
    let stored = file.key_value_metadata().expect("key-value metadata");
    let value = |key: &str| {
        let found = stored.iter().find(|it| it.key == key)?;
        found.value.as_deref()
    };
    assert_eq!(value("callgrove.table"), Some("waits"));
    assert_eq!(value("callgrove.schema_version"), Some("1"));
    assert_eq!(value("callgrove.version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(value("callgrove.unit.waited_us"), Some("us"));
    assert_eq!(value("callgrove.unit.rank"), None);
}

#[test]
fn long_tables_are_written_in_row_groups_as_rows_come() {
    let columns = [TableColumn::int("at_ns"), TableColumn::text("text")];
    let table = UntypedTable::<()>::new("long", &columns);
    let file = tempfile::tempfile().unwrap();
    let num_bytes = || file.metadata().unwrap().len();
    let mut sink: Box<dyn RowSink<_> + '_> = Box::new(ParquetSink::new(&table, &file).unwrap());
    let before = num_bytes();
    // Short texts fill a group by their number, long ones by their size.
    for at in 0..70_000_i64 {
        sink.write(&((), vec![TableCell::Int(at), TableCell::from("a")]))
            .unwrap();
    }
    let after_short = num_bytes();
    assert!(after_short > before);
    for at in 0..1_200_i64 {
        let text = format!("{at:020000}");
        sink.write(&((), vec![TableCell::Int(at), text.into()]))
            .unwrap();
    }
    assert!(num_bytes() > after_short);
    sink.finish().unwrap();
    let reader = reader(file);
    let groups = reader.metadata().row_groups();
    let num_rows: Vec<i64> = groups.iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(num_rows.iter().sum::<i64>(), 71_200);
    assert_eq!(num_rows[0], 1 << 16);
    assert_eq!(num_rows.len(), 3, "{num_rows:?}");
}

#[test]
fn values_that_do_not_fit_are_named_with_their_row_and_column() {
    let fits = ((), vec![TableCell::Int(1)]);
    let refused = |column: TableColumn, cell: TableCell| {
        let error = written(&[column], &vec![fits.clone(), ((), vec![cell])]).unwrap_err();
        error.to_string()
    };
    let error = refused(TableColumn::int("rank"), TableCell::Float(1.5));
    assert!(error.contains("row 2"), "{error}");
    assert!(error.contains("the column rank is an integer"), "{error}");
    assert!(error.contains("1.5"), "{error}");
    let error = refused(TableColumn::int("rank"), TableCell::Null);
    assert!(error.contains("nothing"), "{error}");
    refused(TableColumn::int("rank"), TableCell::UInt(u64::MAX));
    refused(
        TableColumn::new("rank", ColumnType::UInt),
        TableCell::Int(-1),
    );
    refused(TableColumn::float("rank"), TableCell::from("one"));
    refused(TableColumn::text("rank"), TableCell::Null);
}

#[test]
fn numbers_widen_to_their_column() {
    let columns = [TableColumn::float("a"), TableColumn::text("b")];
    let rows = vec![((), vec![TableCell::Int(2), TableCell::Float(0.5)])];
    let reader = reader(written(&columns, &rows).unwrap());
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.to_string(), "{a: 2.0, b: \"0.5\"}");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let columns = [TableColumn::int("a"), TableColumn::int("a")];
    let error = written(&columns, &Rows::new()).unwrap_err().to_string();
    assert!(error.contains("name a"), "{error}");
}
