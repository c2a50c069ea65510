//! Evaluates causes on a run with known truth: roles, roots and incidents against the labels and the injections.
//!
//! `cargo run --release --package callgrove-benches --example causes -- RUN FUNCTION ground_truth.csv injections.json`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use callgrove_causes::{CauseKind, Causes, DelayCause, DelayRole, Incident, SimilarIncidents};
use callgrove_model::{ExecIdx, ExecRef, FunctionName, FunctionPattern, Progress, RankId, Trace};
use serde_json::Value;

/// A row of the truth file that is the root or a victim of a stop.
struct TruthRow {
    rank: RankId,
    index: usize,
    label: usize,
    /// Indices of the injected stops that it overlaps.
    stops: Vec<usize>,
}

/// The interval in which a rank was stopped.
struct Stop {
    rank: RankId,
    start_us: i64,
    end_us: i64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, function, truth, injections, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: causes RUN FUNCTION ground_truth.csv injections.json [--verbose]".into(),
        );
    };
    let is_verbose = rest.iter().any(|it| it == "--verbose");
    let trace = callgrove_formats::load(Path::new(run), Progress::none())?;
    let (start, cpu) = (Instant::now(), cpu_time());
    let causes = Causes::find(&trace, Progress::none())?;
    println!(
        "{} executions, {} messages: {:?}, {:?} of CPU",
        trace.num_executions(),
        trace.messages.len(),
        start.elapsed(),
        cpu_time().saturating_sub(cpu)
    );
    let stops = read_stops(injections)?;
    let rows = read_truth(truth)?;
    judge_roles(&trace, &causes, function, &rows, &stops, is_verbose);
    judge_incidents(&trace, &causes, &rows, &stops, is_verbose);
    Ok(())
}

fn judge_roles(
    trace: &Trace,
    causes: &Causes,
    function: &str,
    rows: &[TruthRow],
    stops: &[Stop],
    is_verbose: bool,
) {
    let executions = executions_of(trace, function);
    // By label: right, undecided or on time, wrong; and right rank of the root.
    let mut counts: BTreeMap<usize, [usize; 4]> = BTreeMap::new();
    for row in rows {
        let Some(&exec) = executions.get(&(row.rank, row.index)) else {
            println!("no execution {} on rank {}", row.index, row.rank);
            continue;
        };
        let cause = causes.of(trace, exec);
        let expected = [DelayRole::Root, DelayRole::Victim][row.label - 1];
        let place = match cause.role {
            role if role == expected => 0,
            DelayRole::Undecided | DelayRole::OnTime => 1,
            DelayRole::Root | DelayRole::Victim => 2,
        };
        let root_rank = cause.root.map(|root| causes.roots()[root].rank);
        let is_rank_right = row
            .stops
            .iter()
            .any(|&it| Some(stops[it].rank) == root_rank);
        let count = counts.entry(row.label).or_default();
        count[place] += 1;
        count[3] += usize::from(is_rank_right);
        if is_verbose && (place != 0 || (row.label == 2 && !is_rank_right)) {
            print_row(trace, causes, row, stops, exec, &cause);
        }
    }
    for (label, [right, open, wrong, rank]) in counts {
        let all = right + open + wrong;
        println!(
            "label {label}: {right}/{all} right, {open} undecided, {wrong} wrong, root rank {rank}/{all}"
        );
    }
}

fn print_row(
    trace: &Trace,
    causes: &Causes,
    row: &TruthRow,
    stops: &[Stop],
    exec: ExecRef,
    cause: &DelayCause,
) {
    let executions = &trace.lane(exec.lane).executions;
    let start = trace.time_span().map_or(0, |span| span.0.as_us());
    let of_stops = row.stops.iter().map(|&it| {
        let stop = &stops[it];
        (stop.rank.0, stop.start_us - start, stop.end_us - start)
    });
    println!(
        "  label {} rank {} exec {} [{}..{}] stops {:?}: {} {} waited {}",
        row.label,
        row.rank,
        row.index,
        executions.entry[exec.exec.index()].as_us() - start,
        executions.exit(exec.exec).as_us() - start,
        of_stops.collect::<Vec<_>>(),
        cause.role,
        cause.kind,
        cause.waited
    );
    if let Some(root) = cause.root.map(|it| &causes.roots()[it]) {
        let name = FunctionName::parse(trace.names.name(root.func)).short;
        let (from, to) = (root.start.as_us() - start, root.end.as_us() - start);
        println!(
            "    root rank {} in {name} [{from}..{to}] {}",
            root.rank, root.kind
        );
    }
    for hop in &cause.hops {
        println!(
            "    {} {} -> {} [{}..{}] {} (short {} long {})",
            hop.kind,
            hop.rank,
            hop.peer_rank,
            hop.start.as_us() - start,
            hop.end.as_us() - start,
            hop.handed_on,
            hop.short_term,
            hop.long_term
        );
    }
}

fn judge_incidents(
    trace: &Trace,
    causes: &Causes,
    rows: &[TruthRow],
    stops: &[Stop],
    is_verbose: bool,
) {
    let start = trace.time_span().map_or(0, |span| span.0.as_us());
    let all = causes.incidents().all();
    let is_of = |stop: &Stop, it: &Incident| {
        let (from, to) = (it.root.start.as_us(), it.root.end.as_us());
        it.root.rank == stop.rank && from < stop.end_us && to > stop.start_us
    };
    let (mut num_hit, mut num_found) = (0, 0);
    for (index, stop) in stops.iter().enumerate() {
        let is_hit = rows.iter().any(|row| row.stops.contains(&index));
        num_hit += usize::from(is_hit);
        let is_found = all.iter().any(|it| is_of(stop, it));
        num_found += usize::from(is_hit && is_found);
        if is_verbose && is_hit && !is_found {
            let (from, to) = (stop.start_us - start, stop.end_us - start);
            println!("  no incident: stop of rank {} [{from}..{to}]", stop.rank);
        }
    }
    println!("stops: {num_found}/{num_hit} are incidents");
    let mut others: BTreeMap<CauseKind, usize> = BTreeMap::new();
    for it in all
        .iter()
        .filter(|it| !stops.iter().any(|stop| is_of(stop, it)))
    {
        *others.entry(it.kind).or_default() += 1;
        if is_verbose {
            let name = FunctionName::parse(trace.names.name(it.root.func)).short;
            let (from, to) = (it.start.as_us() - start, it.end.as_us() - start);
            println!(
                "  {} [{from}..{to}] rank {} in {name} {}: {} on {} ranks; {}",
                it.kind,
                it.root.rank,
                it.root.own_delay,
                it.delay,
                it.ranks.len(),
                causes
                    .incidents()
                    .similar_to(it)
                    .map_or_else(String::new, SimilarIncidents::summary)
            );
        }
    }
    println!(
        "incidents: {}, of these without a stop {others:?}",
        all.len()
    );
    let clocks = causes.clocks();
    println!(
        "{} hosts, {} pairs with messages back in time, {} waits",
        clocks.hosts().len(),
        clocks.back_in_time().len(),
        causes.waits().all().len()
    );
}

fn executions_of(trace: &Trace, function: &str) -> BTreeMap<(RankId, usize), ExecRef> {
    let pattern = FunctionPattern::new(function);
    let matches = |(_, name): &(_, &str)| pattern.matches(&FunctionName::parse(name));
    let functions: Vec<_> = trace.names.iter().filter(matches).map(|it| it.0).collect();
    let mut found = BTreeMap::new();
    for (lane, held) in trace.lanes() {
        let rows = held.executions.func.iter().enumerate();
        let rows = rows.filter(|(_, func)| functions.contains(func));
        for (index, (row, _)) in rows.enumerate() {
            let exec = ExecIdx::from_index(row);
            found.insert((held.rank, index), ExecRef { lane, exec });
        }
    }
    found
}

fn read_stops(path: &str) -> Result<Vec<Stop>, Box<dyn Error>> {
    let injections: Vec<Value> = serde_json::from_str(&fs::read_to_string(path)?)?;
    let stops = injections.iter().filter(|it| it["kind"] == "stop");
    let number = |it: &Value, key: &str| it[key].as_i64().ok_or_else(|| format!("no {key}"));
    let stop = |it| {
        Ok(Stop {
            rank: RankId(u32::try_from(number(it, "rank")?)?),
            start_us: number(it, "t0_before_sigstop_us")?,
            end_us: number(it, "t3_after_sigcont_us")?,
        })
    };
    stops.map(stop).collect()
}

fn read_truth(path: &str) -> Result<Vec<TruthRow>, Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path)?;
    let headers = reader.headers()?.clone();
    let column = |name: &str| {
        let at = headers.iter().position(|it| it == name);
        at.ok_or_else(|| format!("no column {name}"))
    };
    let columns = ["rank", "exec", "label", "own_stops", "other_stops"].map(column);
    let [rank, exec, label, own, other] = columns;
    let (rank, exec, label, own, other) = (rank?, exec?, label?, own?, other?);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        let label = record[label].parse()?;
        if label != 1 && label != 2 {
            continue;
        }
        let stops = if label == 1 {
            &record[own]
        } else {
            &record[other]
        };
        let stops = stops.split(|it: char| !it.is_ascii_digit());
        rows.push(TruthRow {
            rank: RankId(record[rank].parse()?),
            index: record[exec].parse()?,
            label,
            stops: stops.filter_map(|it| it.parse().ok()).collect(),
        });
    }
    Ok(rows)
}

/// Returns the CPU time of this thread; 0 on systems without that clock.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = stat.split_whitespace().next();
    Duration::from_nanos(spent.and_then(|it| it.parse().ok()).unwrap_or(0))
}
