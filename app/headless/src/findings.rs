//! Findings of a run, for a trace of other programs: the rows of `incidents` and `analyze`.

use std::collections::BTreeMap;

use callgrove_export::{FindingValue, FoundIncident, TraceFinding, TraceFindings};
use callgrove_model::{DurationNs, ExecRef, Forest, FunctionName, Label, LaneIdx, RankId, Trace};
use callgrove_query::{Incident, IncidentRow, RunCauses};
use callgrove_session::{Detection, Explainer, TreeRow, tree_rows};

/// Largest number of reasons of an execution.
const MAX_REASONS: usize = 3;
/// Largest number of delayed ranks that an incident lists.
const MAX_RANKS: usize = 64;

/// The executions of a function, with their scores and what compares them with usual ones.
#[derive(Clone, Copy)]
pub struct JudgedForest<'a> {
    /// The executions.
    pub forest: &'a Forest,
    /// Their scores.
    pub detection: &'a Detection,
    /// Compares them with the usual ones.
    pub explainer: &'a Explainer,
    /// Their labels, shape `[n_trees]`.
    pub labels: &'a [Option<Label>],
}

/// Returns the incidents of a run, and the abnormal executions of a function, if one is judged.
pub fn trace_findings(causes: &RunCauses, judged: Option<JudgedForest<'_>>) -> TraceFindings {
    let incidents = causes.incidents().iter().enumerate();
    let incidents = incidents.map(|(index, incident)| {
        let row = causes.incident_row(index, incident);
        found_incident(causes, &row, incident)
    });
    TraceFindings {
        incidents: incidents.collect(),
        executions: judged.map_or_else(Vec::new, |judged| executions(judged, causes)),
    }
}

fn found_incident(causes: &RunCauses, row: &IncidentRow, incident: &Incident) -> FoundIncident {
    let number = row.incident;
    let root = &incident.root;
    let is_of_a_rank = incident.kind.is_of_a_rank();
    let name = match row.root_rank {
        Some(rank) => format!("{}: rank {rank} in {}", row.kind, row.root_function),
        None => row.kind.clone(),
    };
    let found_root = is_of_a_rank.then(|| {
        let mut values = vec![
            ("incident", integer(number)),
            ("function", text(&row.root_function)),
            ("own_delay_us", micros(root.own_delay)),
            ("usual_us", micros(root.usual)),
            ("caused_us", micros(root.caused)),
            ("confidence_percent", integer(root.confidence_percent)),
        ];
        if let Some(rank) = row.next_best_rank {
            values.push(("next_best_rank", integer(rank)));
        }
        let finding = TraceFinding {
            start: root.start,
            end: root.end.max(root.start),
            title: format!(
                "Root of incident {number}: {} in {}",
                row.kind, row.root_function
            ),
            values,
        };
        (root.lane, finding)
    });
    let root_rank = is_of_a_rank.then_some(root.rank);
    FoundIncident {
        summary: TraceFinding {
            start: incident.start,
            end: incident.end.max(incident.start),
            title: format!("Incident {number}: {name}"),
            values: incident_values(row, incident),
        },
        root: found_root,
        victims: victims(causes, number, (incident, root_rank)),
    }
}

fn incident_values(row: &IncidentRow, incident: &Incident) -> Vec<(&'static str, FindingValue)> {
    let ranks = incident.ranks.iter().take(MAX_RANKS);
    let mut ranks = ranks.map(RankId::to_string).collect::<Vec<_>>().join(", ");
    if incident.ranks.len() > MAX_RANKS {
        ranks.push_str(", …");
    }
    let mut values = vec![
        ("incident", integer(row.incident)),
        ("sentence", text(&row.words)),
        ("kind", text(&row.kind)),
        ("cost_us", FindingValue::Integer(row.delay_us)),
        (
            "length_us",
            FindingValue::Integer(row.end_us - row.start_us),
        ),
        ("confidence_percent", integer(row.confidence_percent)),
        ("num_ranks", integer(row.num_ranks)),
        ("ranks", text(&ranks)),
        ("num_executions", integer(row.num_executions)),
        ("times", integer(row.times)),
        ("by_design", FindingValue::Flag(row.by_design)),
    ];
    if let Some(lost_us) = row.lost_run_time_us {
        values.push(("lost_run_time_us", FindingValue::Integer(lost_us)));
    }
    if let Some(rank) = row.root_rank {
        values.push(("root_rank", integer(rank)));
        values.push(("root_function", text(&row.root_function)));
    }
    if let Some(rank) = row.next_best_rank {
        values.push(("next_best_rank", integer(rank)));
    }
    if !row.again.is_empty() {
        values.push(("again", text(&row.again)));
    }
    values
}

/// Returns the longest delayed call of each rank but the root's.
fn victims(
    causes: &RunCauses,
    number: usize,
    (incident, root_rank): (&Incident, Option<RankId>),
) -> Vec<(LaneIdx, TraceFinding)> {
    let trace = causes.trace();
    let mut by_rank: BTreeMap<_, (DurationNs, ExecRef)> = BTreeMap::new();
    for &call in &incident.members {
        let lane = trace.lane(call.lane);
        if Some(lane.rank) == root_rank {
            continue;
        }
        let length = lane.executions.inclusive[call.exec.index()];
        let longest = by_rank
            .entry((lane.program, lane.rank))
            .or_insert((length, call));
        if length > longest.0 {
            *longest = (length, call);
        }
    }
    let found = by_rank.into_iter().map(|((_, rank), (_, call))| {
        let function = FunctionName::parse(trace.function_name(call)).short;
        let cause = causes.of(call);
        let mut values = vec![
            ("incident", integer(number)),
            ("function", text(function)),
            ("waited_us", micros(cause.waited)),
        ];
        if let Some(sentence) = causes.sentence(rank, &cause) {
            values.push(("sentence", FindingValue::Text(sentence)));
        }
        let title = format!("Delayed by incident {number}: {function}");
        (call.lane, finding_of_call(trace, call, title, values))
    });
    found.collect()
}

fn executions(judged: JudgedForest<'_>, causes: &RunCauses) -> Vec<(LaneIdx, TraceFinding)> {
    let JudgedForest {
        forest,
        detection,
        explainer,
        labels,
    } = judged;
    let reasons_of = |tree| {
        let is_wanted = detection.is_unusual(tree);
        if is_wanted {
            explainer.reasons(tree)
        } else {
            Vec::new()
        }
    };
    let rows = tree_rows(forest, detection, labels, Some(causes), reasons_of);
    let listed = detection.order.iter().zip(rows);
    let listed = listed.filter(|(_, row)| row.abnormal || row.cause.is_some());
    let found = listed.map(|(tree, row)| {
        let call = forest.trees()[tree.index()].root;
        let function = FunctionName::parse(forest.trace().function_name(call)).short;
        let title = format!("{function} {}", row.tree);
        let finding = finding_of_call(forest.trace(), call, title, execution_values(&row));
        (call.lane, finding)
    });
    found.collect()
}

fn execution_values(row: &TreeRow) -> Vec<(&'static str, FindingValue)> {
    let decision = match row.cause {
        Some(cause) => format!("abnormal, explained by: {}", cause.name()),
        None => "abnormal".to_owned(),
    };
    let mut values = vec![
        ("decision", FindingValue::Text(decision)),
        ("score", FindingValue::Number(row.score)),
    ];
    if let Some(p_value) = row.p_value {
        values.push(("p_value", FindingValue::Number(p_value)));
    }
    values.push(("reason", FindingValue::Text(row.reasons.words(MAX_REASONS))));
    if let Some(role) = &row.role {
        values.push(("role", text(role)));
    }
    if let Some(rank) = row.root_rank {
        values.push(("root_rank", integer(rank)));
    }
    values.push(("tree", text(&row.tree)));
    values.push(("event_id", text(&row.event_id)));
    values.push(("thread", integer(row.thread)));
    values
}

fn finding_of_call(
    trace: &Trace,
    call: ExecRef,
    title: String,
    values: Vec<(&'static str, FindingValue)>,
) -> TraceFinding {
    let calls = &trace.lane(call.lane).executions;
    TraceFinding {
        start: calls.entry[call.exec.index()],
        end: calls.exit(call.exec),
        title,
        values,
    }
}

fn text(text: &str) -> FindingValue {
    FindingValue::Text(text.to_owned())
}

fn integer(number: impl TryInto<i64>) -> FindingValue {
    FindingValue::Integer(number.try_into().unwrap_or(i64::MAX))
}

fn micros(duration: DurationNs) -> FindingValue {
    FindingValue::Integer(duration.as_us())
}
