//! The program on the command line: real traces as input, text and exit codes as output.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use callgrove_tests::shell::{
    COMPUTE, analyze, analyze_function, callgrove, copy_of, data, error_output, example,
    ground_truth, stdout,
};
use callgrove_tests::{cli_page, program};
use serde_json::Value;

#[test]
fn info_prints_the_figures_of_the_example_trace() -> Result<()> {
    let text = stdout(&["info", &example().to_string_lossy()])?;
    for figure in [
        "4 ranks",
        "16 I/O steps",
        "30,409 calls",
        "up to 10 deep",
        "3,296 SEND, 3,296 RECV, 3,296 matched",
        "7,216 counter samples",
        "The tracer wrote its own data 8 times, 4.496 ms in all",
        "No warnings: the trace is complete",
        "Note: receives report another size than their sends, such as that of the posted buffer; that of the send is used (120 times)",
    ] {
        assert!(text.contains(figure), "`{figure}` is missing:\n{text}");
    }
    Ok(())
}

#[test]
fn the_page_of_commands_is_the_help_of_the_program() -> Result<()> {
    let written = fs::read_to_string(data(cli_page::PATH))?;
    let is_current = written == cli_page::text()?;
    assert!(
        is_current,
        "{} is stale: `cargo xtask docs` writes it",
        cli_page::PATH
    );
    Ok(())
}

#[test]
fn log_lines_have_the_requested_format() -> Result<()> {
    let plain = error_output(&["info", "nowhere"])?;
    let json = error_output(&["--log-format", "json", "info", "nowhere"])?;
    let sentence = plain.trim_end().trim_start_matches("callgrove: ");
    let line: Value = serde_json::from_str(&json).with_context(|| json.clone())?;
    assert_eq!(
        (&line["level"], &line["message"]),
        (&"ERROR".into(), &sentence.into())
    );
    let time = line["timestamp"].as_str().context("no time")?;
    assert!(time.ends_with('Z'), "{time}");
    let full = error_output(&["info", "nowhere", "--log-format", "full"])?;
    assert!(full.contains("ERROR") && full.contains(sentence), "{full}");
    Ok(())
}

#[test]
fn info_as_json_agrees_for_both_engines() -> Result<()> {
    for trace in ["assets/lammps-4r-small", "tests/data/lammps-4r-small-bp4"] {
        let text = stdout(&["info", &data(trace).to_string_lossy(), "--format", "json"])?;
        let info: Value = serde_json::from_str(&text)?;
        assert_eq!(info["calls"], 30_409, "{trace}");
        assert_eq!(info["matched"], 3_296, "{trace}");
        assert_eq!(
            info["functions"].as_array().map(Vec::len),
            Some(188),
            "{trace}"
        );
    }
    Ok(())
}

#[test]
fn analyze_writes_one_row_per_tree_with_the_documented_names() -> Result<()> {
    let example = example();
    let args = [
        "analyze",
        &example.to_string_lossy(),
        "--function",
        COMPUTE,
        "--format",
        "csv",
    ];
    let text = stdout(&args)?;
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "tree,event_id,program,rank,thread,index,entry_us,exit_us,score,p_value,abnormal,label,cause,by_design,role,root_rank,reasons"
        )
    );
    assert_eq!(lines.count(), 196);
    let rows = analyze(&example, &[])?;
    assert_eq!(rows.len(), 196);
    for row in &rows {
        assert_eq!(row["tree"], format!("#{}-{}", row["rank"], row["index"]));
        assert!(row["exit_us"].as_i64() >= row["entry_us"].as_i64(), "{row}");
    }
    // Abnormal trees come first, then those explained by a trace write; each group in the order of the scores.
    let key = |row: &Value| -> Option<(bool, bool, f64)> {
        let is_abnormal = row["abnormal"].as_bool()?;
        Some((
            !is_abnormal,
            row["cause"].is_null() && !is_abnormal,
            row["score"].as_f64()?,
        ))
    };
    let keys: Vec<_> = rows.iter().filter_map(key).collect();
    assert_eq!(keys.len(), rows.len());
    // Scores that are equal up to rounding are ordered by tree.
    let falls = |pair: &[(bool, bool, f64)]| {
        let (before, after) = (pair[0], pair[1]);
        let group = |key: (bool, bool, f64)| (key.0, key.1);
        group(after) < group(before) || (group(after) == group(before) && after.2 < before.2 - 1e-8)
    };
    assert!(
        !keys.windows(2).any(falls),
        "the most abnormal tree comes first"
    );
    Ok(())
}

#[test]
fn trees_explained_by_trace_writes_are_tagged_and_follow_the_other_abnormal_trees() -> Result<()> {
    let example = example();
    let function = "MPI_Send";
    let rows = analyze_function(&example, function, &[])?;
    assert_eq!(rows.len(), 3_176);
    let place = |row: &Value| match (&row["cause"], row["abnormal"].as_bool()) {
        (Value::Null, Some(true)) => 0,
        (Value::Null, Some(false)) => 2,
        (Value::String(cause), Some(false)) if cause == "trace write" => 1,
        _ => panic!("no such row: {row}"),
    };
    let places: Vec<u16> = rows.iter().map(place).collect();
    assert!(places.is_sorted(), "{places:?}");
    let count = |wanted| places.iter().filter(|&&place| place == wanted).count();
    assert_eq!((count(0), count(1)), (58, 8));
    let table = stdout(&[
        "analyze",
        &example.to_string_lossy(),
        "--function",
        function,
    ])?;
    let line = "8 executions were slow while the tracer wrote its own data (cause \"trace write\"), which \
                explains most of the delay: listed after the 58 unexplained ones";
    assert!(table.contains(line), "{table}");
    Ok(())
}

#[test]
fn the_table_of_analyze_has_durations() -> Result<()> {
    let trace = example();
    let args = [
        "analyze",
        &trace.to_string_lossy(),
        "--function",
        COMPUTE,
        "--limit",
        "3",
    ];
    let text = stdout(&args)?;
    let mut lines = text.lines();
    let header = lines.next().context("no header")?;
    let names: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(names[..3], ["tree", "duration", "×median"], "{header}");
    assert_eq!(
        names.last(),
        Some(&"root_rank"),
        "nothing was taken away: {header}"
    );
    let row = lines.next().context("no row")?;
    assert!(row.contains(" ms  "), "{row}");
    Ok(())
}

#[test]
fn stopped_ranks_and_their_victims_are_at_the_top() -> Result<()> {
    let truth = ground_truth(&example())?;
    let rows = analyze(&example(), &[])?;
    let label = |row: &Value| {
        let is_same = |truth: &&(u64, u64, u8)| row["rank"] == truth.0 && row["index"] == truth.1;
        truth.iter().find(is_same).map_or(0, |truth| truth.2)
    };
    let num_anomalies = truth
        .iter()
        .filter(|truth| (1..=4).contains(&truth.2))
        .count();
    let found = rows[..num_anomalies]
        .iter()
        .filter(|row| (1..=4).contains(&label(row)))
        .count();
    assert!(
        found * 3 >= num_anomalies * 2,
        "only {found} of {num_anomalies} are at the top"
    );
    Ok(())
}

#[test]
fn analyze_says_why_a_tree_is_abnormal() -> Result<()> {
    let rows = analyze(&example(), &[])?;
    let first = &rows[0]["reasons"][0];
    let names = first.as_object().context("it is no object")?.keys();
    let expected = [
        "count",
        "excess_us",
        "function",
        "kind",
        "path",
        "share",
        "usual_count",
        "usual_us",
    ];
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, expected);
    let path = first["path"].as_array().context("the path is no list")?;
    assert_eq!(path[0], "LAMMPS_NS::PairEAM::compute");
    assert_eq!(path.last(), Some(&first["function"]));
    assert_eq!(first["kind"], "longer");
    assert!(first["excess_us"].as_f64() > Some(1_000.0), "{first}");
    let is_explained = |row: &&Value| {
        row["reasons"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    };
    let is_normal = |row: &&Value| row["abnormal"] == false && row["cause"].is_null();
    assert_eq!(rows.iter().filter(is_normal).find(is_explained), None);
    let all = analyze(&example(), &["--explain"])?;
    assert!(all.iter().filter(is_normal).any(|row| is_explained(&row)));
    let example = example();
    let args = [
        "analyze",
        &example.to_string_lossy(),
        "-f",
        COMPUTE,
        "-n",
        "1",
        "--explain",
    ];
    let text = stdout(&args)?;
    let (header, row) = text.trim_end().split_once('\n').context("no row")?;
    assert!(header.trim_end().ends_with("reasons"), "{header}");
    assert!(row.contains("longer: "), "{row}");
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_bytes() -> Result<()> {
    let example = example();
    let run = |seed| {
        stdout(&[
            "analyze",
            &example.to_string_lossy(),
            "-f",
            COMPUTE,
            "--seed",
            seed,
        ])
    };
    assert_eq!(run("7")?, run("7")?);
    Ok(())
}

#[test]
fn false_alarms_can_be_raised_and_each_row_has_its_p_value() -> Result<()> {
    let num_abnormal = |share: &str| -> Result<usize> {
        let rows = analyze(&example(), &["--false-alarms", share])?;
        for row in &rows {
            let p_value = row["p_value"].as_f64().context("a p-value")?;
            assert!(p_value > 0.0 && p_value <= 1.0, "{row}");
        }
        Ok(rows.iter().filter(|row| row["abnormal"] == true).count())
    };
    assert!(num_abnormal("0.4")? > num_abnormal("0.0001")?);
    Ok(())
}

#[test]
fn a_label_moves_its_tree_and_a_saved_model_scores_like_the_original() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let before = analyze(&example(), &[])?;
    let top = &before[0];
    let labels = folder.path().join("labels.csv");
    fs::write(
        &labels,
        format!(
            "rank,index,label\n{},{},normal\n",
            top["rank"], top["index"]
        ),
    )?;
    let model = folder.path().join("model.json");
    let (labels, model) = (labels.to_string_lossy(), model.to_string_lossy());
    let after = analyze(&example(), &["--labels", &labels, "--save-model", &model])?;
    let same_tree = after
        .iter()
        .find(|row| row["tree"] == top["tree"])
        .context("the tree is gone")?;
    assert_eq!(same_tree["label"], "normal");
    assert_eq!(
        same_tree["abnormal"], false,
        "a tree labelled normal is not abnormal: {same_tree}"
    );

    let scored = analyze(&example(), &["--model", &model])?;
    let open = || after.iter().filter(|row| row["label"].is_null());
    assert_eq!(open().count(), 195);
    for own in open() {
        let by_model = scored.iter().find(|row| row["tree"] == own["tree"]);
        let by_model = by_model.context("the tree is gone")?;
        assert_eq!(by_model["score"], own["score"], "{by_model} {own}");
    }
    Ok(())
}

#[test]
fn without_a_function_one_is_suggested() -> Result<()> {
    let output = callgrove(&["analyze", &example().to_string_lossy(), "--format", "csv"])?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8(output.stderr)?.contains("no --function given; using "));
    Ok(())
}

/// Returns the rows for a forest file.
fn analyze_trees(file: &str, more: &[&str]) -> Result<Vec<Value>> {
    let file = data("ml/tests/fixtures").join(file);
    let file = file.to_string_lossy();
    let args = [&["analyze", &file, "--format", "json"], more].concat();
    stdout(&args)?
        .lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

#[test]
fn weighted_trees_are_ranked_like_those_of_a_trace() -> Result<()> {
    let rows = analyze_trees("trees_citations.jsonl", &[])?;
    assert_eq!(rows.len(), 200);
    let mut top: Vec<&str> = rows[..3]
        .iter()
        .filter_map(|row| row["event_id"].as_str())
        .collect();
    top.sort_unstable();
    // A ring, a paper that everyone reads, and one cited by many surveys.
    assert_eq!(top, ["0:0:1031", "0:0:1077", "0:0:1100"]);
    let replies = analyze_trees("trees_replies.jsonl", &[])?;
    let mut top: Vec<&str> = replies[..3]
        .iter()
        .filter_map(|row| row["tree"].as_str())
        .collect();
    top.sort_unstable();
    // A quarrel, a flood of answers, and a post with very many reactions.
    assert_eq!(top, ["#0-20", "#0-64", "#1-53"]);
    let quarrel = replies.iter().find(|row| row["tree"] == "#0-20");
    let entry = quarrel.map(|row| &row["entry"]);
    assert_eq!(
        entry,
        Some(&Value::from(1_200)),
        "the entry that the file gives"
    );

    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("labels.csv"), "rank,index,label\n0,20,normal\n")?;
    let (labels, model) = (path("labels.csv"), path("model.json"));
    let file = "trees_replies.jsonl";
    let labelled = analyze_trees(file, &["--labels", &labels, "--save-model", &model])?;
    let scored = analyze_trees(file, &["--model", &model])?;
    for rows in [labelled, scored] {
        let row = rows.iter().find(|row| row["tree"] == "#0-20");
        let row = row.context("the tree is gone")?;
        assert_eq!(row["abnormal"], false, "it was labelled normal: {row}");
    }
    for more in [["--mode", "paper"], ["--seed", "5"], ["-n", "240"]] {
        assert_eq!(analyze_trees(file, &more)?.len(), 240, "{more:?}");
    }
    assert_eq!(analyze_trees(file, &["--ordered"])?.len(), 240);
    Ok(())
}

#[test]
fn weights_other_than_times_are_never_printed_as_times() -> Result<()> {
    let file = data("ml/tests/fixtures/trees_replies.jsonl");
    let file = file.to_string_lossy();
    let table = stdout(&["analyze", &file, "--explain", "-n", "40"])?;
    let header = table.lines().next().unwrap_or_default();
    assert!(
        header.contains("weight") && !header.contains("_us"),
        "{header}"
    );
    assert!(table.contains(" reactions"), "{table}");
    let of_time = [
        "ns", "µs", "ms", "s", "longer", "shorter", "call", "calls", "duration",
    ];
    for word in table.split(|it: char| it.is_whitespace() || "(),:;".contains(it)) {
        assert!(!of_time.contains(&word), "`{word}` in\n{table}");
    }
    let rows = analyze_trees("trees_replies.jsonl", &["--explain"])?;
    for row in &rows {
        assert_eq!(row["unit"], "reactions");
        assert!(row["weight"].as_i64() > Some(0), "{row}");
        assert!(!row.to_string().contains("_us"), "{row}");
    }
    let csv = stdout(&["analyze", &file, "--format", "csv"])?;
    let columns = "tree,event_id,program,rank,thread,index,entry,weight,unit,score,";
    assert!(csv.starts_with(columns), "{csv}");
    Ok(())
}

#[test]
fn a_forest_file_with_a_mistake_is_refused_with_its_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let header = "{\"format\":\"callgrove-forest\",\"version\":1}\n";
    let tree = "{\"parent\":[-1],\"names\":[\"a\"],\"w\":[-4]}\n";
    fs::write(path("bad.jsonl"), header.to_owned() + tree)?;
    fs::write(
        path("good.jsonl"),
        header.to_owned() + &tree.replace("-4", "4"),
    )?;
    fs::write(path("packed.jsonl.gz"), "")?;
    for (args, expected) in [
        (vec![path("bad.jsonl")], "line 2: vertex 0 has weight -4"),
        (vec![path("none.jsonl")], "none.jsonl"),
        (vec![path("packed.jsonl.gz")], "gunzip"),
        (
            vec![path("good.jsonl"), "-f".into(), "a".into()],
            "a forest file contains only its own trees",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let text = error_output(&[&["analyze"], &args[..]].concat())?;
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    Ok(())
}

#[test]
fn errors_have_cause_place_and_remedy() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("notes.txt"), "no trace")?;
    fs::write(path("bad.csv"), "rank,index,label\n1,2,maybe\n")?;
    fs::write(path("bad.json"), "{}")?;
    let example = example().to_string_lossy().into_owned();
    let cases: [(&[&str], &str); 11] = [
        (
            &["analyze", &example, "-f", COMPUTE, "--gamma", "1e-300"],
            "gamma factor must be from 0.001 to 1000, not 1e-300",
        ),
        (
            &[
                "replay",
                &example,
                "--out",
                &path("replayed"),
                "--speed",
                "1e-300",
            ],
            "--speed 1e-300 must be 0 or from 0.001 to 1000000",
        ),
        (&["run", "--sst", "bp/*.bp"], "name each, such as bp/tau"),
        (&["info", &path("missing")], "missing"),
        (&["info", &path("notes.txt")], "notes.txt"),
        (&["info", &path("")], ".bp"),
        (
            &["analyze", &example, "-f", COMPUTE, "--nu", "2"],
            "nu must be above 0 and at most 1, not 2",
        ),
        (
            &["analyze", &example, "-f", "PairEAM::comput"],
            "did you mean LAMMPS_NS::PairEAM::compute",
        ),
        (
            &[
                "analyze",
                &example,
                "-f",
                COMPUTE,
                "--labels",
                &path("bad.csv"),
            ],
            "line 2: label is `maybe`",
        ),
        (
            &[
                "analyze",
                &example,
                "-f",
                COMPUTE,
                "--labels",
                &path("none.csv"),
            ],
            "none.csv",
        ),
        (
            &[
                "analyze",
                &example,
                "-f",
                COMPUTE,
                "--model",
                &path("bad.json"),
            ],
            "bad.json",
        ),
    ];
    for (args, expected) in cases {
        let text = error_output(args)?;
        assert!(text.starts_with("callgrove: "), "{text}");
        assert!(
            text.contains(expected),
            "{args:?}: `{expected}` is missing in: {text}"
        );
    }
    Ok(())
}

#[test]
fn a_killed_run_is_read_up_to_its_end_and_says_what_is_missing() -> Result<()> {
    let killed = data("tests/data/lammps-4r-killed");
    let read = callgrove(&["info", &killed.to_string_lossy(), "--format", "json"])?;
    assert_eq!(read.status.code(), Some(3), "a part is missing");
    let info: Value = serde_json::from_slice(&read.stdout)?;
    assert_eq!(info["ranks"], 1);
    let warnings = info["warnings"].as_array().context("no warnings")?;
    let is_reported = |what: &str| {
        warnings
            .iter()
            .any(|warning| warning["what"].as_str().is_some_and(|w| w.contains(what)))
    };
    assert!(
        !is_reported("posted buffer"),
        "a note is not a warning: {warnings:?}"
    );
    assert!(is_reported("still open at the end"), "{warnings:?}");
    assert!(is_reported("is truncated"), "{warnings:?}");
    assert!(is_reported("ranks of the communicator"), "{warnings:?}");
    let ranked = callgrove(&["analyze", &killed.to_string_lossy(), "-f", COMPUTE])?;
    assert!(ranked.stdout.len() > 200, "the trees that ended are ranked");
    let stderr = String::from_utf8(ranked.stderr)?;
    assert!(stderr.contains("rank 0: stream is truncated"), "{stderr}");
    assert_eq!(ranked.status.code(), Some(3), "a part is missing");
    Ok(())
}

#[test]
fn an_unreadable_rank_is_reported_and_the_others_are_analysed() -> Result<()> {
    let disk = copy_of(&data("tests/data/lammps-4r-small-bp4"))?;
    let run = disk.path().to_string_lossy().into_owned();
    let index = disk.path().join("bp/tau-metrics-lmp_tau-2.bp/md.idx");
    fs::write(index, "no index")?;
    let provdb = disk.path().join("found").to_string_lossy().into_owned();
    let list = ["--format", "json"];
    for args in [
        &["analyze", &run, "-f", COMPUTE][..],
        &["causes", &run, "-f", COMPUTE, "--all"],
        &["patterns", &run],
        &["run", &run, "--provdb", &provdb],
        &["ad", &run],
    ] {
        let output = callgrove(&[args, &list].concat())?;
        let stderr = String::from_utf8(output.stderr)?;
        assert!(
            stderr.contains("rank 2: rank could not be read"),
            "{args:?}: {stderr}"
        );
        assert_eq!(output.status.code(), Some(3), "{args:?}: {stderr}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
    let read = callgrove(&["info", &run])?;
    assert_eq!(read.status.code(), Some(3));
    let stderr = String::from_utf8(read.stdout)?;
    assert!(
        stderr.contains("rank could not be read and is left out"),
        "{stderr}"
    );
    let ranks = "select distinct rid from metadata order by rid";
    let ranks = stdout(&["query", &provdb, "--sql", ranks, "--format", "csv"])?;
    assert_eq!(ranks, "rid\n0\n1\n3\n");
    Ok(())
}

#[test]
fn a_closed_pipe_is_no_error() -> Result<()> {
    let program = program::path()?;
    for format in ["table", "csv", "json"] {
        let script = format!("\"$0\" analyze \"$1\" -f {COMPUTE} --format {format} | head -n 1");
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &script])
            .arg(&program)
            .arg(example())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{format}: {errors}");
        assert!(errors.is_empty(), "{format}: {errors}");
    }
    Ok(())
}

#[test]
fn a_missing_display_is_reported() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let output = program::command()?
        .arg("demo")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env("XDG_CACHE_HOME", folder.path())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr)?;
    assert!(
        text.contains("no display") && text.contains("callgrove analyze"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_database_is_copied_trimmed_and_compacted() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let place = |name: &str| disk.path().join(name).to_string_lossy().into_owned();
    let [golden, original, copy] = ["golden", "original", "copy"].map(place);
    fs::create_dir(&golden)?;
    for file in ["provdb.global.sqlite", "provdb.0.sqlite"] {
        let from = data("tests/data/provdb-format-1").join(file);
        fs::copy(from, disk.path().join("golden").join(file))?;
    }
    let counts = "3 anomalies, 3 normalexecs, 3 metadata, 3 func_stats, 3 counter_stats, 3 ad_model, 3 incidents, \
                  1 trends, 3 trees";
    let copied = stdout(&["provdb", "backup", &golden, &original])?;
    let expected = format!("{original} has a verified copy of {golden}: {counts} (51.7 kB)\n");
    assert_eq!(copied, expected);
    let again = error_output(&["provdb", "backup", &golden, &original])?;
    assert!(again.contains("the target already exists"), "{again}");
    assert_eq!(
        stdout(&["provdb", "upgrade", &original])?,
        format!("{original} has the newest format (1)\n")
    );
    let statistics = || stdout(&["query", &original, "func_stats", "--format", "json"]);
    let before = statistics()?;
    let rules = [
        "provdb",
        "retain",
        &original,
        "--below-severity-us",
        "41000",
    ];
    let numbers = "1 of 3 anomalies, 1 of 3 normalexecs, 0 of 3 trees\n";
    assert_eq!(stdout(&rules)?, format!("would delete {numbers}"));
    assert_eq!(stdout(&rules)?, format!("would delete {numbers}"));
    let deleted = stdout(&[&rules[..], &["--yes"]].concat())?;
    assert_eq!(deleted, format!("deleted {numbers}"));
    assert_eq!(statistics()?, before);
    assert_eq!(stdout(&["query", &original, "--count"])?, "2\n");
    let compacted = stdout(&["provdb", "compact", &original])?;
    let smaller = format!("{original}: 51.7 kB before, 4");
    assert!(compacted.starts_with(&smaller), "{compacted}");
    stdout(&["provdb", "backup", &original, &copy])?;
    let output = callgrove(&["provdb", "retain", &copy, "--program", "0"])?;
    assert_eq!(output.status.code(), Some(2), "it names no rule");
    Ok(())
}
