//! The tables of commands as files: text, CSV, JSON lines and Parquet, with the same rows in each.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use callgrove_tests::program;
use callgrove_tests::shell::{COMPUTE, callgrove, error_output, example, stdout};
use parquet::basic::{LogicalType, Repetition, Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use tempfile::TempDir;

/// A Parquet file: its columns, its rows as CSV would print them, and its key-value metadata.
struct ReadTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    metadata: BTreeMap<String, String>,
}

fn read_parquet(path: &Path) -> Result<ReadTable> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let file = reader.metadata().file_metadata();
    let column = |field: &parquet::schema::types::TypePtr| {
        let info = field.get_basic_info();
        let name = match (field.get_physical_type(), info.logical_type_ref()) {
            (Type::BOOLEAN, _) => "bool",
            (Type::INT64, None) => "int",
            (Type::DOUBLE, _) => "float",
            (Type::BYTE_ARRAY, Some(LogicalType::String)) => "text",
            _ => "other",
        };
        let mark = match info.repetition() {
            Repetition::OPTIONAL => "?",
            _ => "",
        };
        format!("{} {name}{mark}", info.name())
    };
    let columns = file.schema().get_fields().iter().map(column).collect();
    let stored = file.key_value_metadata().into_iter().flatten();
    let metadata = stored
        .map(|it| (it.key.clone(), it.value.clone().unwrap_or_default()))
        .collect();
    let rows = reader.get_row_iter(None)?.map(|row| {
        let fields = row?.into_columns().into_iter();
        Ok(fields.map(|(_, field)| text(&field)).collect())
    });
    let rows = rows.collect::<Result<_>>()?;
    Ok(ReadTable {
        columns,
        rows,
        metadata,
    })
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        // JSON prints a number as CSV does.
        Field::Double(number) => serde_json::Value::from(*number).to_string(),
        other => other.to_string(),
    }
}

/// Runs a command, and returns the Parquet file that it writes, after a check that CSV has the same rows.
fn table_of(args: &[&str]) -> Result<ReadTable> {
    let disk = tempfile::tempdir()?;
    let out = |name: &str| disk.path().join(name).to_string_lossy().into_owned();
    let (parquet, csv) = (out("table.parquet"), out("table.csv"));
    for file in [&parquet, &csv] {
        let printed = stdout(&[args, &["--out", file]].concat())?;
        ensure!(printed.is_empty(), "{args:?} printed {printed}");
    }
    let table = read_parquet(Path::new(&parquet))?;
    let (header, mut rows) = read_csv(&fs::read_to_string(csv)?);
    let names = table.columns.iter().filter_map(|it| it.split(' ').next());
    assert_eq!(header, names.collect::<Vec<_>>(), "{args:?}");
    // CSV has the integers that a database holds in a column of numbers.
    for row in &mut rows {
        for (cell, column) in row.iter_mut().zip(&table.columns) {
            if column.contains(" float") && !cell.is_empty() {
                *cell = text(&Field::Double(cell.parse()?));
            }
        }
    }
    assert_eq!(rows, table.rows, "{args:?}");
    Ok(table)
}

/// Returns header and rows of CSV; a cell in quotes may have line ends and doubled quotes.
fn read_csv(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    let header = rows.remove(0);
    (header, rows)
}

fn trace() -> String {
    example().to_string_lossy().into_owned()
}

/// A folder of the test, and the path of a file in it.
fn place(name: &str) -> Result<(TempDir, String)> {
    let disk = tempfile::tempdir()?;
    let path = disk.path().join(name).to_string_lossy().into_owned();
    Ok((disk, path))
}

#[test]
fn analyze_has_typed_columns_and_units() -> Result<()> {
    let table = table_of(&["analyze", &trace(), "-f", COMPUTE])?;
    let columns = "tree text,event_id text,program int,rank int,thread int,index int,entry_us int,exit_us int,\
                   score float,p_value float?,abnormal bool,label text?,cause text?,by_design text?,role text?,\
                   root_rank int?,reasons text";
    assert_eq!(table.columns.join(","), columns);
    assert_eq!(table.rows.len(), 196);
    let stored = |key: &str| table.metadata.get(key).map(String::as_str);
    assert_eq!(stored("callgrove.table"), Some("trees"));
    assert_eq!(stored("callgrove.unit.entry_us"), Some("us"));
    assert_eq!(stored("callgrove.unit.rank"), None);
    assert_eq!(stored("callgrove.version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(stored("callgrove.schema_version"), Some("1"));
    Ok(())
}

#[test]
fn tables_of_a_run_are_the_same_in_csv_and_parquet() -> Result<()> {
    let trace = trace();
    for (args, name, some_columns) in [
        (
            &["info", &trace][..],
            "functions",
            "name text,calls int,inclusive_us int",
        ),
        (
            &["causes", &trace, "-f", COMPUTE],
            "causes",
            "role text?,root_rank int?",
        ),
        (
            &["incidents", &trace],
            "incidents",
            "by_design bool,confidence_percent int",
        ),
        (
            &["patterns", &trace],
            "patterns",
            "reference_us float,limit_us float",
        ),
    ] {
        let table = table_of(args)?;
        assert!(!table.rows.is_empty(), "{args:?}");
        assert_eq!(
            table.metadata.get("callgrove.table").map(|it| &**it),
            Some(name)
        );
        let columns = table.columns.join(",");
        assert!(columns.contains(some_columns), "{args:?}: {columns}");
    }
    Ok(())
}

#[test]
fn a_table_without_rows_has_the_same_columns() -> Result<()> {
    let trace = trace();
    for command in [
        &["incidents", &trace][..],
        &["patterns", &trace],
        &["trends", &trace],
    ] {
        let some = table_of(command)?;
        let none = table_of(&[command, &["--limit", "0"]].concat())?;
        assert_eq!(none.rows.len(), 0);
        assert_eq!(none.columns, some.columns);
    }
    Ok(())
}

#[test]
fn evaluate_has_one_row_per_measurement() -> Result<()> {
    let truth = example().join("ground_truth.csv");
    let args = [
        "evaluate",
        &trace(),
        "-f",
        COMPUTE,
        "--truth",
        &truth.to_string_lossy(),
        "--methods",
        "ours,duration",
        "--max-labels",
        "2",
    ];
    let table = table_of(&args)?;
    let count = |record: &str| table.rows.iter().filter(|row| row[0] == record).count();
    // Two methods, over all kinds and for each of two; 0, 1 and 2 labels, over all trees and those without a label.
    assert_eq!((count("method"), count("labels")), (6, 6));
    assert!(table.columns.contains(&"roc_auc float?".to_owned()));
    Ok(())
}

#[test]
fn a_saved_model_is_described_evaluated_and_compared_as_tables() -> Result<()> {
    let (_disk, model) = place("model.json")?;
    let trace = trace();
    stdout(&["analyze", &trace, "-f", COMPUTE, "--save-model", &model])?;
    let shown = table_of(&["model", "show", &model])?;
    assert_eq!(shown.rows.len(), 1);
    assert!(
        shown
            .columns
            .contains(&"median_duration_us float".to_owned())
    );
    let evaluated = table_of(&["model", "evaluate", &model, &trace])?;
    assert_eq!(evaluated.rows.len(), 1);
    assert!(evaluated.columns.contains(&"precision float?".to_owned()));
    let changes = table_of(&["model", "diff", &model, &model, &trace])?;
    assert_eq!(changes.rows.len(), 0);
    assert_eq!(changes.columns[2], "score_before float");
    Ok(())
}

#[test]
fn records_have_the_types_of_their_schema_also_without_rows() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let database = disk.path().join("found").to_string_lossy().into_owned();
    stdout(&["run", &trace(), "--provdb", &database])?;
    let table = table_of(&["query", &database, "anomalies"])?;
    let columns = "event_id text?,pid int?,rid int?,tid int?,io_step int?,outlier_score float?,\
                   outlier_severity float?,runtime_exclusive int?,runtime_total int?,func text?";
    assert_eq!(table.columns.join(","), columns);
    assert!(!table.rows.is_empty());
    let none = table_of(&["query", &database, "anomalies", "--where", "rid = 99"])?;
    assert_eq!((none.rows.len(), none.columns), (0, table.columns));
    let sql = "select rid, count(*) as n, max(outlier_score) as worst from anomalies group by rid order by rid";
    let grouped = table_of(&["query", &database, "--sql", sql])?;
    assert_eq!(grouped.columns, ["rid int?", "n int?", "worst float?"]);
    let count = table_of(&["query", &database, "anomalies", "--count"])?;
    assert_eq!(count.rows, [[table.rows.len().to_string()]]);
    // Numbers are rounded for people only.
    let (_disk, csv) = place("scores.csv")?;
    let scores = [
        "query",
        &database,
        "anomalies",
        "--columns",
        "outlier_score",
    ];
    stdout(&[&scores[..], &["--out", &csv]].concat())?;
    let exact = fs::read_to_string(csv)?;
    let rounded = stdout(&scores)?;
    let digits = |text: &str| {
        let decimals = text.lines().filter_map(|line| line.split_once('.'));
        decimals.map(|(_, digits)| digits.len()).max()
    };
    assert!(digits(&exact) > Some(3), "{exact}");
    assert!(digits(&rounded) <= Some(3), "{rounded}");
    Ok(())
}

#[test]
fn the_name_of_the_file_chooses_the_format_and_the_option_precedes_it() -> Result<()> {
    let (disk, _) = place("")?;
    let trace = trace();
    let written = |name: &str, more: &[&str]| -> Result<Vec<u8>> {
        let path = disk.path().join(name);
        let file = path.to_string_lossy();
        let args = ["incidents", &trace, "--limit", "2", "--out", &file];
        stdout(&[&args[..], more].concat())?;
        Ok(fs::read(path)?)
    };
    let of = |format: &str| -> Result<Vec<u8>> {
        let args = ["incidents", &trace, "--limit", "2", "--format", format];
        Ok(stdout(&args)?.into_bytes())
    };
    assert_eq!(written("a.csv", &[])?, of("csv")?);
    assert_eq!(written("a.CSV", &[])?, of("csv")?);
    assert_eq!(written("a.json", &[])?, of("json")?);
    assert_eq!(written("a.jsonl", &[])?, of("json")?);
    assert_eq!(written("a.txt", &[])?, of("table")?);
    assert_eq!(written("a", &["--format", "csv"])?, of("csv")?);
    assert_eq!(written("b.csv", &["--format", "json"])?, of("json")?);
    assert!(written("b", &["--format", "parquet"])?.starts_with(b"PAR1"));
    // Nothing else is left in the folder.
    let mut names: Vec<_> = fs::read_dir(disk.path())?
        .map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()))
        .collect::<Result<_>>()?;
    names.sort();
    assert_eq!(
        names,
        [
            "a", "a.CSV", "a.csv", "a.json", "a.jsonl", "a.txt", "b", "b.csv"
        ]
    );
    Ok(())
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_work() -> Result<()> {
    let trace = trace();
    let (disk, old) = place("old.csv")?;
    let folder = disk.path().to_string_lossy().into_owned();
    let missing = format!("{folder}/none/table.csv");
    for (more, words) in [
        (&["--format", "parquet"][..], "--out"),
        (&["--out", &folder], "it is a folder"),
        (&["--out", &missing], "does not exist"),
    ] {
        let error = error_output(&[&["analyze", &trace][..], more].concat())?;
        assert!(error.contains(words), "{error}");
    }
    // A command that fails leaves the previous file.
    fs::write(&old, "before")?;
    let output = callgrove(&["analyze", &trace, "-f", "no such function", "--out", &old])?;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&old)?, "before");
    assert_eq!(fs::read_dir(disk.path())?.count(), 1);
    Ok(())
}

#[cfg(unix)]
#[test]
fn devices_are_written_to_and_links_are_followed() -> Result<()> {
    let trace = trace();
    let (disk, target) = place("target.csv")?;
    let link = disk.path().join("link.csv");
    fs::write(&target, "before")?;
    std::os::unix::fs::symlink(&target, &link)?;
    stdout(&["incidents", &trace, "--out", &link.to_string_lossy()])?;
    assert!(link.symlink_metadata()?.is_symlink());
    assert!(fs::read_to_string(&target)?.starts_with("incident,"));
    stdout(&[
        "incidents",
        &trace,
        "--format",
        "parquet",
        "--out",
        "/dev/null",
    ])?;
    assert!(!Path::new("/dev/null").metadata()?.is_file());
    Ok(())
}

#[test]
fn parquet_is_not_written_to_a_terminal() -> Result<()> {
    // `script` gives the program a terminal; without it, there is nothing to test with.
    if Command::new("script").arg("--version").output().is_err() {
        return Ok(());
    }
    let line = format!(
        "'{}' incidents '{}' --format parquet --out /dev/tty",
        program::path()?.display(),
        trace()
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("terminal"), "{printed}");
    Ok(())
}

#[test]
fn scores_are_readable_and_times_begin_with_the_run() -> Result<()> {
    let text = stdout(&["analyze", &trace(), "-f", COMPUTE, "-n", "5"])?;
    let header = text.lines().next().context("no header")?;
    let names: Vec<&str> = header.split_whitespace().collect();
    assert!(
        names.contains(&"at") && !names.contains(&"entry_us"),
        "{header}"
    );
    assert!(!text.contains("e-1"), "{text}");
    let row = text.lines().nth(1).context("no row")?;
    let score = row.split_whitespace().find_map(|word| {
        let (whole, decimals) = word.split_once('.')?;
        (decimals.len() == 3 && whole.parse::<i64>().is_ok()).then_some(word)
    });
    assert!(score.is_some(), "{row}");
    Ok(())
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() -> Result<()> {
    let program = program::path()?;
    let disk = tempfile::tempdir()?;
    let database = disk.path().join("found").to_string_lossy().into_owned();
    let model = disk
        .path()
        .join("model.json")
        .to_string_lossy()
        .into_owned();
    stdout(&["run", &trace(), "--provdb", &database])?;
    stdout(&["analyze", &trace(), "-f", COMPUTE, "--save-model", &model])?;
    let commands = [
        "info TRACE",
        "analyze TRACE -f MPI_Send",
        "causes TRACE -f MPI_Send --all",
        "incidents TRACE",
        "patterns TRACE",
        "trends TRACE",
        "query DATABASE normalexecs",
        "query DATABASE --sql 'select doc from normalexecs'",
        "model show MODEL",
        "model diff MODEL MODEL TRACE",
    ];
    let with_format = commands.iter().flat_map(|command| {
        ["table", "csv", "json"].map(|format| format!("{command} --format {format}"))
    });
    let others = [
        "config --print",
        "completions bash",
        "completions zsh",
        "man",
        "--help",
    ];
    for line in with_format.chain(others.map(str::to_owned)) {
        let line = line
            .replace("TRACE", "\"$1\"")
            .replace("DATABASE", "\"$2\"")
            .replace("MODEL", "\"$3\"");
        // The reader is gone before the program writes.
        let script = format!("\"$0\" {line} | head -c 0");
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &script])
            .arg(&program)
            .args([&trace(), &database, &model])
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        assert!(!errors.contains("pipe"), "{line}: {errors}");
        assert!(!errors.contains("panicked"), "{line}: {errors}");
    }
    Ok(())
}

#[test]
fn completions_and_manual_pages_have_every_command() -> Result<()> {
    for (shell, words) in [
        ("bash", "complete -F _callgrove"),
        ("zsh", "#compdef callgrove"),
        ("fish", "complete -c callgrove"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = stdout(&["completions", shell])?;
        assert!(script.contains(words), "{shell}: {script}");
        assert!(script.contains("analyze"), "{shell}");
    }
    let main = stdout(&["man"])?;
    assert!(
        main.contains(".TH callgrove 1") && main.contains("callgrove\\-analyze(1)"),
        "{main}"
    );
    let (disk, folder) = place("man1")?;
    stdout(&["man", "--out", &folder])?;
    let page = |name: &str| fs::read_to_string(disk.path().join("man1").join(name));
    assert_eq!(page("callgrove.1")?, main);
    assert!(page("callgrove-analyze.1")?.contains("false\\-alarms"));
    assert!(page("callgrove-model-show.1")?.contains("model"));
    assert!(page("callgrove-read-through.1").is_err(), "it is hidden");
    Ok(())
}
