//! The contents of a run, and their damage.

use std::collections::BTreeMap;
use std::io::Write;
use std::marker::PhantomData;

use callgrove_export::{ResultTable, TableColumn, TextTable};
use callgrove_model::{
    DurationNs, FunctionName, RankId, RunIdentity, Trace, TracerWrite, count_of, thousands,
};
use callgrove_query::{open_call_rows, open_calls_sentence};
use callgrove_session::Suggestion;
use serde::Serialize;
use serde_json::{Value, json};

/// Number of functions listed, by exclusive time.
const NUM_FUNCTIONS: usize = 15;
/// Number of suggested root functions.
const NUM_SUGGESTIONS: usize = 5;
/// Metadata keys that describe where and how the program ran.
const METADATA_SHOWN: [&str; 6] = [
    "Hostname",
    "Command Line",
    "Executable",
    "CPU Type",
    "TAU Version",
    "MPI Processor Name",
];

/// A run and what is worth analysing in it.
pub struct RunContents<'a> {
    /// The source as the user named it.
    pub source: &'a str,
    /// The run.
    pub trace: &'a Trace,
    /// Root functions that are worth analysing, most promising first.
    pub suggestions: &'a [Suggestion],
}

/// The totals of a whole trace.
struct Totals {
    span: DurationNs,
    num_sends: usize,
    num_recvs: usize,
    num_counters: usize,
    /// Time during which the tracer wrote its own data.
    written: DurationNs,
    deepest: usize,
}

/// The calls of a function in a run.
pub struct RunFunction<'a> {
    name: FunctionName<'a>,
    num_calls: usize,
    inclusive: DurationNs,
    exclusive: DurationNs,
}

/// A function as a record.
#[derive(Serialize)]
struct FunctionLine<'a> {
    name: &'a str,
    calls: usize,
    inclusive_us: i64,
    exclusive_us: i64,
}

impl<'a> RunFunction<'a> {
    fn line(&self) -> FunctionLine<'a> {
        FunctionLine {
            name: self.name.full,
            calls: self.num_calls,
            inclusive_us: self.inclusive.as_us(),
            exclusive_us: self.exclusive.as_us(),
        }
    }
}

/// The functions of a run, those with most exclusive time first.
#[derive(Default)]
pub struct RunFunctionTable<'a>(PhantomData<&'a Trace>);

impl<'a> ResultTable for RunFunctionTable<'a> {
    type Row = RunFunction<'a>;

    fn name(&self) -> &'static str {
        "functions"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::text("name"),
            TableColumn::int("calls"),
            TableColumn::int("inclusive_us"),
            TableColumn::int("exclusive_us"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec!["calls", "exclusive", "inclusive", "function"]
    }

    fn cells(&self, function: &RunFunction<'a>) -> Vec<String> {
        vec![
            thousands(function.num_calls),
            function.exclusive.to_string(),
            function.inclusive.to_string(),
            function.name.qualified.to_owned(),
        ]
    }

    fn record(&self, function: &RunFunction<'a>) -> impl Serialize {
        function.line()
    }

    fn document(&self, function: &RunFunction<'a>) -> impl Serialize {
        function.line()
    }
}

fn totals(trace: &Trace) -> Totals {
    let comms = |kind| {
        trace
            .lanes
            .iter()
            .flat_map(|lane| &lane.comms.kind)
            .filter(|&&other| other == kind)
            .count()
    };
    let depths = trace.lanes.iter().flat_map(|lane| &lane.executions.depth);
    Totals {
        span: trace
            .time_span()
            .map_or(DurationNs::ZERO, |(first, last)| last.since(first)),
        num_sends: comms(callgrove_model::CommKind::Send),
        num_recvs: comms(callgrove_model::CommKind::Recv),
        num_counters: trace.lanes.iter().map(|lane| lane.counters.len()).sum(),
        written: trace.writes.iter().map(TracerWrite::duration).sum(),
        deepest: depths.max().map_or(0, |&depth| usize::from(depth) + 1),
    }
}

fn functions(trace: &Trace) -> Vec<RunFunction<'_>> {
    let mut functions: Vec<_> = trace
        .names
        .iter()
        .map(|(_, name)| RunFunction {
            name: FunctionName::parse(name),
            num_calls: 0,
            inclusive: DurationNs::ZERO,
            exclusive: DurationNs::ZERO,
        })
        .collect();
    for lane in &trace.lanes {
        let executions = &lane.executions;
        for (row, func) in executions.func.iter().enumerate() {
            let total = &mut functions[func.index()];
            total.num_calls += 1;
            total.inclusive += executions.inclusive[row];
            total.exclusive += executions.exclusive[row];
        }
    }
    functions.retain(|function| function.num_calls > 0);
    functions.sort_by_key(|function| std::cmp::Reverse(function.exclusive));
    functions
}

/// Returns the values of each metadata key, with the ranks of each value.
fn metadata(trace: &Trace) -> BTreeMap<&str, BTreeMap<&str, Vec<RankId>>> {
    let mut by_key: BTreeMap<&str, BTreeMap<&str, Vec<RankId>>> = BTreeMap::new();
    for entry in &trace.metadata {
        by_key
            .entry(&entry.key)
            .or_default()
            .entry(&entry.value)
            .or_default()
            .push(entry.rank);
    }
    by_key
}

impl RunContents<'_> {
    /// Returns the functions of the run, those with most exclusive time first.
    pub fn functions(&self) -> Vec<RunFunction<'_>> {
        functions(self.trace)
    }

    /// Prints the contents as text.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self {
            source,
            trace,
            suggestions,
        } = self;
        let totals = totals(trace);
        let num = thousands;
        writeln!(out, "{source}")?;
        writeln!(out, "  Run: {} ({})", trace.identity, trace.identity.id())?;
        writeln!(
            out,
            "  {}, {}, {}, duration {}",
            count_of(trace.ranks().len(), "rank"),
            count_of(trace.lanes.len(), "thread"),
            count_of(trace.num_steps, "I/O step"),
            totals.span
        )?;
        writeln!(
            out,
            "  {} of {}, up to {} deep",
            count_of(trace.num_executions(), "call"),
            count_of(functions(trace).len(), "function"),
            totals.deepest
        )?;
        writeln!(
            out,
            "  {} SEND, {} RECV, {} matched; {}",
            num(totals.num_sends),
            num(totals.num_recvs),
            num(trace.messages.len()),
            count_of(totals.num_counters, "counter sample")
        )?;
        if !(trace.launches.is_empty() && trace.collectives.is_empty()) {
            writeln!(
                out,
                "  {} of work on GPUs; {} in collectives of a known communicator",
                match trace.launches.len() {
                    1 => "1 launch".to_owned(),
                    several => format!("{} launches", num(several)),
                },
                count_of(trace.collectives.len(), "call")
            )?;
        }
        if !trace.writes.is_empty() {
            writeln!(
                out,
                "  The tracer wrote its own data {}, {} in all",
                count_of(trace.writes.len(), "time"),
                totals.written
            )?;
        }
        if let Some(open) = open_calls_sentence(trace) {
            writeln!(out, "  {open}")?;
        }
        print_metadata(out, trace)?;
        print_suggestions(out, suggestions)?;
        print_functions(out, trace)?;
        print_warnings(out, trace)
    }

    /// Returns the contents as JSON.
    pub fn to_json(&self) -> Value {
        let Self {
            source,
            trace,
            suggestions,
        } = self;
        let totals = totals(trace);
        let functions = functions(trace);
        let functions: Vec<FunctionLine<'_>> = functions.iter().map(RunFunction::line).collect();
        let warnings: Vec<Value> = trace
            .warnings
            .damage()
            .map(|warning| {
                json!({
                    "what": warning.kind.to_string(),
                    "rank": warning.rank,
                    "count": warning.count,
                    "first": warning.first.since(None),
                })
            })
            .collect();
        let notes: Vec<Value> = trace
            .warnings
            .notes()
            .into_iter()
            .map(|(kind, count)| json!({ "what": kind.to_string(), "count": count }))
            .collect();
        let suggestions: Vec<Value> = suggestions
            .iter()
            .map(|suggestion| {
                json!({
                    "function": suggestion.name,
                    "calls": suggestion.num_calls,
                    "median_us": suggestion.median.as_us(),
                    "longest_us": suggestion.longest.as_us(),
                    "mean_calls": suggestion.mean_calls,
                })
            })
            .collect();
        json!({
            "source": source,
            "run": run_identity_json(&trace.identity),
            "ranks": trace.ranks().len(),
            "threads": trace.lanes.len(),
            "io_steps": trace.num_steps,
            "span_us": totals.span.as_us(),
            "calls": trace.num_executions(),
            "deepest": totals.deepest,
            "sends": totals.num_sends,
            "recvs": totals.num_recvs,
            "matched": trace.messages.len(),
            "launches": trace.launches.len(),
            "collective_calls": trace.collectives.len(),
            "counter_samples": totals.num_counters,
            "tracer_writes": trace.writes.len(),
            "tracer_writes_us": totals.written.as_us(),
            "open_calls": open_call_rows(trace),
            "metadata": metadata(trace),
            "roots": suggestions,
            "functions": functions,
            "warnings": warnings,
            "notes": notes,
        })
    }
}

fn print_metadata(out: &mut dyn Write, trace: &Trace) -> std::io::Result<()> {
    let metadata = metadata(trace);
    for key in METADATA_SHOWN {
        let Some(values) = metadata.get(key) else {
            continue;
        };
        let mut values = values.keys();
        let first = values.next().copied().unwrap_or_default();
        match values.count() {
            0 => writeln!(out, "  {key}: {first}")?,
            num_more => writeln!(out, "  {key}: {first} (and {num_more} more)")?,
        }
    }
    Ok(())
}

fn print_suggestions(out: &mut dyn Write, suggestions: &[Suggestion]) -> std::io::Result<()> {
    if suggestions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nPromising root functions (for --function)")?;
    let mut table = TextTable::new(&["calls", "median", "longest", "calls in each", "function"]);
    for suggestion in suggestions.iter().take(NUM_SUGGESTIONS) {
        table.push(vec![
            thousands(suggestion.num_calls),
            suggestion.median.to_string(),
            suggestion.longest.to_string(),
            format!("{:.1}", suggestion.mean_calls),
            suggestion.name.clone(),
        ]);
    }
    table.print(out, 2)
}

fn print_functions(out: &mut dyn Write, trace: &Trace) -> std::io::Result<()> {
    let functions = functions(trace);
    writeln!(out, "\nFunctions with most exclusive time")?;
    let described = RunFunctionTable(PhantomData);
    let mut table = TextTable::new(&described.headings());
    for function in functions.iter().take(NUM_FUNCTIONS) {
        table.push(described.cells(function));
    }
    table.print(out, 2)?;
    if functions.len() > NUM_FUNCTIONS {
        writeln!(
            out,
            "  and {} others",
            thousands(functions.len() - NUM_FUNCTIONS)
        )?;
    }
    Ok(())
}

fn print_warnings(out: &mut dyn Write, trace: &Trace) -> std::io::Result<()> {
    let start = trace.time_span().map(|(start, _)| start);
    let mut table = TextTable::new(&["count", "rank", "what", "first seen"]);
    for warning in trace.warnings.damage() {
        table.push(vec![
            thousands(warning.count),
            warning
                .rank
                .map_or_else(String::new, |rank| rank.to_string()),
            warning.kind.to_string(),
            warning.first.since(start),
        ]);
    }
    if table.is_empty() {
        writeln!(out, "\nNo warnings: the trace is complete")?;
    } else {
        writeln!(out, "\nWarnings")?;
        table.print(out, 2)?;
    }
    for (kind, count) in trace.warnings.notes() {
        writeln!(out, "\nNote: {kind} ({})", count_of(count, "time"))?;
    }
    Ok(())
}

/// Returns a run's identity as JSON.
pub fn run_identity_json(run: &RunIdentity) -> Value {
    json!({
        "id": run.id(),
        "description": run.to_string(),
        "identity": run,
    })
}
