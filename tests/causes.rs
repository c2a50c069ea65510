//! Causes on the command line: real stops of ranks as input; roles, roots and incidents as output.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgrove_model::{DurationNs, ExecIdx, FuncId, Lane, Progress, TimeNs};
use callgrove_query::{CauseKind, RunCauses};
use callgrove_tests::shell::{
    COMPUTE, callgrove, data, error_output, example, ground_truth, stdout,
};
use serde_json::Value;

/// Parses one JSON object per line.
fn rows(args: &[&str]) -> Result<Vec<Value>> {
    let text = stdout(args)?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

#[test]
fn a_trace_and_its_records_are_two_runs_of_the_same_host() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let found = disk.path().join("found").to_string_lossy().into_owned();
    let trace = example().to_string_lossy().into_owned();
    stdout(&["run", &trace, "--provdb", &found])?;
    let nodes = rows(&["nodes", &trace, &found, "--format", "json"])?;
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    assert!(nodes[0]["host"].as_str().is_some_and(|it| !it.is_empty()));
    assert_eq!(nodes[0]["num_runs"], 2);
    assert_eq!(nodes[0]["num_runs_as_root"], 2, "{nodes:?}");
    assert_eq!(nodes[0]["p_value"], 1.0);
    Ok(())
}

fn causes(more: &[&str]) -> Result<Vec<Value>> {
    let trace = example();
    let trace = trace.to_string_lossy();
    let args = ["causes", &trace, "--function", COMPUTE, "--format", "json"];
    rows(&[&args[..], more].concat())
}

/// Returns rank, start and end of each injected stop, in microseconds.
fn stops() -> Result<Vec<(i64, i64, i64)>> {
    let text = fs::read_to_string(example().join("injections.json"))?;
    let injections: Vec<Value> = serde_json::from_str(&text)?;
    let stop = |it: &Value| {
        let number = |name: &str| {
            it[name]
                .as_i64()
                .with_context(|| format!("no {name}: {it}"))
        };
        Ok((
            number("rank")?,
            number("t1_after_sigstop_us")?,
            number("t2_before_sigcont_us")?,
        ))
    };
    injections
        .iter()
        .filter(|it| it["kind"] == "stop")
        .map(stop)
        .collect()
}

#[test]
fn stopped_ranks_are_roots_and_those_that_waited_are_their_victims() -> Result<()> {
    let rows = causes(&["--all"])?;
    assert_eq!(rows.len(), 196);
    let (mut num_roots, mut num_victims) = (0, 0);
    for (rank, index, label) in ground_truth(&example())? {
        let is_same = |row: &&Value| row["rank"] == rank && row["index"] == index;
        let row = rows.iter().find(is_same).context("no such row")?;
        match label {
            1 => {
                assert_eq!(row["role"], "root", "{row}");
                assert_eq!(row["root_rank"], rank, "{row}");
                num_roots += 1;
            }
            2 => {
                assert_eq!(row["role"], "victim", "{row}");
                assert_ne!(row["root_rank"], rank, "{row}");
                let chain = row["chain"].as_array().context("no chain")?;
                assert_eq!(row["hops"], chain.len(), "{row}");
                let last = chain.last().context("a victim waited for another rank")?;
                assert_eq!(last["peer_rank"], row["root_rank"], "{row}");
                num_victims += 1;
            }
            _ => {}
        }
    }
    assert_eq!((num_roots, num_victims), (2, 4));
    Ok(())
}

#[test]
fn an_execution_on_time_has_no_role_and_was_not_held_up() -> Result<()> {
    let rows = causes(&["--all"])?;
    let on_time: Vec<&Value> = rows.iter().filter(|row| row["role"].is_null()).collect();
    assert!(on_time.len() > 150, "{} of {}", on_time.len(), rows.len());
    for row in on_time {
        assert!(row["root_rank"].is_null() && row["kind"].is_null(), "{row}");
        assert_eq!(
            (&row["waited_us"], &row["hops"]),
            (&0.into(), &0.into()),
            "{row}"
        );
    }
    Ok(())
}

#[test]
fn abnormal_executions_are_listed_by_default_and_agree_with_analyze() -> Result<()> {
    let listed = causes(&[])?;
    let ranked = callgrove_tests::shell::analyze(&example(), &[])?;
    let is_reported = |row: &&Value| row["abnormal"] == true || !row["cause"].is_null();
    let ranked: Vec<&Value> = ranked.iter().filter(is_reported).collect();
    assert_eq!(listed.len(), ranked.len());
    for (row, ranked) in listed.iter().zip(ranked) {
        for name in ["rank", "index", "event_id", "role", "root_rank"] {
            assert_eq!(row[name], ranked[name], "{row}");
        }
    }
    Ok(())
}

#[test]
fn every_stop_that_hit_an_execution_is_an_incident_with_its_rank_as_root() -> Result<()> {
    let trace = example();
    let trace = trace.to_string_lossy();
    let incidents = rows(&["incidents", &trace, "--format", "json"])?;
    let number = |row: &Value, name: &str| row[name].as_i64().unwrap_or(-1);
    let delays: Vec<i64> = incidents
        .iter()
        .map(|row| number(row, "delay_us"))
        .collect();
    assert!(delays.is_sorted_by(|a, b| a >= b), "{delays:?}");
    let hits = fs::read_to_string(example().join("ground_truth.csv"))?;
    let header: Vec<&str> = hits
        .lines()
        .next()
        .context("no header")?
        .split(',')
        .collect();
    let own = header.iter().position(|&name| name == "own_stops");
    let own = own.context("no own_stops")?;
    let label = header.len() - 1;
    let stops = stops()?;
    let mut num_found = 0;
    for line in hits.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[label] != "1" {
            continue;
        }
        let stop = fields[own].split([';', ' ']).next().context("which stop")?;
        let (rank, start, end) = stops[stop.parse::<usize>()?];
        let is_it = |row: &&Value| {
            number(row, "root_rank") == rank
                && number(row, "start_us") < end
                && number(row, "end_us") > start
        };
        assert!(
            incidents.iter().any(|row| is_it(&row)),
            "no incident for {line}"
        );
        num_found += 1;
    }
    assert_eq!(num_found, 2);
    let hit = rows(&[
        "incidents",
        &trace,
        "--function",
        COMPUTE,
        "--format",
        "json",
    ])?;
    assert!(!hit.is_empty() && hit.len() <= incidents.len());
    Ok(())
}

#[test]
fn tables_describe_what_happened() -> Result<()> {
    let trace = example();
    let trace = trace.to_string_lossy();
    let text = stdout(&["incidents", &trace, "-n", "1"])?;
    assert!(text.contains(" stalled "), "{text}");
    let text = stdout(&["causes", &trace, "--function", COMPUTE])?;
    assert!(text.contains("waited "), "{text}");
    let text = stdout(&["causes", &trace, "--function", COMPUTE, "--format", "csv"])?;
    let header = "rank,index,event_id,role,root_rank,root_function,kind,waited_us,hops";
    assert_eq!(text.lines().next(), Some(header));
    Ok(())
}

#[test]
fn causes_are_found_in_a_killed_run_too() -> Result<()> {
    let trace = data("tests/data/lammps-4r-killed/bp");
    let output = callgrove(&["incidents", &trace.to_string_lossy(), "--format", "json"])?;
    assert_eq!(output.status.code(), Some(3), "a part is missing");
    Ok(())
}

#[test]
fn trees_of_a_forest_file_have_no_waits() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("trees.jsonl");
    let text = "{\"format\":\"callgrove-forest\",\"version\":1}\n{\"id\":0,\"parent\":[-1],\"names\":[\"a\"],\"w\":[1]}\n";
    fs::write(&file, text)?;
    let message = error_output(&["causes", &file.to_string_lossy()])?;
    assert!(message.contains("need a trace"), "{message}");
    Ok(())
}

/// Returns the call that a lane was in longest within a time range, without its children, and the calls around it.
fn longest_segment(lane: &Lane, from: TimeNs, to: TimeNs) -> Vec<FuncId> {
    let calls = &lane.executions;
    let overlap = |at: usize| {
        let end = (calls.entry[at] + calls.inclusive[at]).min(to);
        let time = end.since(calls.entry[at].max(from));
        time.max(DurationNs::ZERO)
    };
    let own = |at: usize| {
        let mut time = overlap(at);
        let mut inner = at + 1;
        while inner < calls.subtree_end[at].index() {
            time = time - overlap(inner);
            inner = calls.subtree_end[inner].index();
        }
        time
    };
    let mut call = (0..calls.func.len()).max_by_key(|&at| own(at));
    let mut stack = Vec::new();
    while let Some(at) = call {
        stack.push(calls.func[at]);
        call = calls.parent[at].map(|it| ExecIdx::from(it).index());
    }
    stack
}

#[test]
fn the_longest_bar_of_an_incidents_root_is_in_the_call_that_its_sentence_names() -> Result<()> {
    let trace = callgrove_formats::load(&example().join("bp"), Progress::none())?;
    let trace = Arc::new(trace);
    let causes = RunCauses::find(&trace, Progress::none())?;
    let incidents = causes.incidents().iter();
    let of_a_rank = incidents.filter(|it| matches!(it.kind, CauseKind::Stalled | CauseKind::Slow));
    let mut num_compared = 0;
    for incident in of_a_rank {
        let root = &incident.root;
        let drawn = longest_segment(trace.lane(root.lane), root.start, root.end);
        let words = causes.incident_sentence(incident);
        assert!(drawn.contains(&root.func), "{words}: {drawn:?}");
        num_compared += 1;
    }
    assert!(num_compared > 4, "{num_compared} incidents");
    Ok(())
}
