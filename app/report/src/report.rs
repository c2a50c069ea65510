//! The content of a report, computed from the state of a session.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{
    DurationNs, Label, Reason, TimeNs, Trace, TracerWrite, TreeIdx, count_of, thousands,
};
use callgrove_query::{Incident, RunCauses};
use callgrove_session::{
    Calls, Detection, LabelKey, LabelOrigin, Mark, ModelSettings, Snapshot, TreeRow, listed_rows,
    rareness_text,
};

use crate::fact::ReportFact;
use crate::incident::IncidentSection;
use crate::request::{
    CandidateChoice, IncidentChoice, InputFile, ReportError, ReportOrigin, ReportRequest,
};

/// Number of reasons of a candidate.
const MAX_REASONS: usize = 3;
/// Number of trends.
const MAX_TRENDS: usize = 8;
/// Number of ranks that a note about damage lists.
const MAX_RANKS: usize = 8;

/// A report without its layout.
#[derive(Clone, PartialEq, Debug)]
pub struct RunReport {
    /// The run in one line.
    pub title: String,
    /// Facts of the run: program, place, time, recorded data.
    pub run: Vec<ReportFact>,
    /// Damage and gaps of the data, a sentence each; empty if it is complete.
    pub quality: Vec<String>,
    /// Which incidents are listed, and of how many.
    pub incident_note: String,
    /// The incidents.
    pub incidents: Vec<IncidentSection>,
    /// Persistent and gradual changes, the costliest first, a sentence each.
    pub trends: Vec<String>,
    /// The hosts of this run and of others, a sentence each; empty if they were not asked for.
    pub nodes: Vec<String>,
    /// The chosen executions of the analysed function, if one is analysed.
    pub candidates: Option<CandidateSection>,
    /// All labels, if asked for, in order of key.
    pub labels: Option<Vec<LabelLine>>,
    /// Marks of the run: time and text.
    pub marks: Vec<(String, String)>,
    /// Settings of the model.
    pub settings: Vec<ReportFact>,
    /// The files that were read.
    pub inputs: Vec<InputFile>,
    /// Who made it, when, and with what.
    pub origin: ReportOrigin,
}

/// Executions of the analysed function.
#[derive(Clone, PartialEq, Debug)]
pub struct CandidateSection {
    /// The function, without arguments.
    pub function: String,
    /// How many were judged, and how many are listed.
    pub note: String,
    /// The executions, the most abnormal first.
    pub lines: Vec<CandidateLine>,
}

/// One execution.
#[derive(Clone, PartialEq, Debug)]
pub struct CandidateLine {
    /// Its row in the table of `callgrove analyze`.
    pub row: TreeRow,
    /// Start, counted from the start of the run; empty for trees without times.
    pub begin: String,
    /// Duration or weight, with its unit.
    pub weight: String,
    /// In how many normal executions one is as unusual; empty if unknown.
    pub rareness: String,
    /// Its explanation, or its part in a delay; empty if nothing is known.
    pub cause: String,
    /// Why it is unusual.
    pub reasons: String,
}

/// A label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelLine {
    /// The tree or execution.
    pub execution: String,
    /// `normal` or `abnormal`.
    pub label: &'static str,
    /// Author; empty if unknown.
    pub by: String,
    /// Time in UTC; empty if unknown.
    pub at: String,
}

impl RunReport {
    /// Returns the report of what a session shows. `reasons_of` returns why a tree is unusual.
    ///
    /// # Errors
    /// [`ReportError`] if there is no trace, or no incident of a number that was asked for.
    pub fn of(
        snapshot: &Snapshot,
        request: &ReportRequest,
        reasons_of: impl Fn(TreeIdx) -> Vec<Reason>,
    ) -> Result<Self, ReportError> {
        let trace = snapshot.trace().ok_or(ReportError::NoTrace)?;
        let span = snapshot.time_span().or_else(|| trace.time_span());
        let begin = span.map_or(TimeNs(0), |(begin, _)| begin);
        let chosen = chosen_incidents(snapshot.causes().map(AsRef::as_ref), &request.incidents)?;
        let incidents = snapshot.causes().map(|causes| {
            let sections = chosen.iter().map(|&numbered| {
                IncidentSection::new(snapshot, causes, numbered, begin, &reasons_of)
            });
            sections.collect()
        });
        let trends = snapshot
            .trends()
            .into_iter()
            .flat_map(|trends| trends.rows());
        Ok(Self {
            title: trace.identity.to_string(),
            run: run_facts(trace, span, snapshot),
            quality: quality(trace),
            incident_note: incident_note(snapshot.causes().map(AsRef::as_ref), &request.incidents),
            incidents: incidents.unwrap_or_default(),
            trends: trends.take(MAX_TRENDS).map(|row| row.words).collect(),
            nodes: request.nodes.clone(),
            candidates: candidates(snapshot, &request.candidates, begin, &reasons_of),
            labels: request.with_labels.then(|| label_lines(snapshot)),
            marks: marks(snapshot, begin),
            settings: settings(snapshot),
            inputs: request.inputs.clone(),
            origin: request.origin.clone(),
        })
    }
}

type Numbered<'a> = (usize, &'a Incident);

fn chosen_incidents<'a>(
    causes: Option<&'a RunCauses>,
    choice: &IncidentChoice,
) -> Result<Vec<Numbered<'a>>, ReportError> {
    let all = causes.map_or(&[][..], RunCauses::incidents);
    match choice {
        IncidentChoice::Costliest { at_most } => {
            let numbered = all.iter().enumerate();
            let costliest = numbered.filter(|(_, incident)| !incident.kind.is_by_design());
            Ok(costliest.take(*at_most).collect())
        }
        IncidentChoice::Numbers(numbers) => {
            let count = all.len();
            let found = numbers.iter().map(|&number| {
                let index = number.checked_sub(1);
                let found = index.and_then(|index| Some((index, all.get(index)?)));
                found.ok_or(ReportError::NoIncident { number, count })
            });
            found.collect()
        }
    }
}

fn incident_note(causes: Option<&RunCauses>, choice: &IncidentChoice) -> String {
    let Some(causes) = causes.filter(|causes| causes.is_timed()) else {
        return "Causes need a trace with times; this one has none.".to_owned();
    };
    let all = causes.incidents();
    let is_by_design = |incident: &&Incident| incident.kind.is_by_design();
    let by_design = all.iter().filter(is_by_design).count();
    let faults = all.len() - by_design;
    let others = match by_design {
        0 => String::new(),
        1 => "; 1 other delay is by design of the program, or noise of the machine".to_owned(),
        more => format!(
            "; {} other delays are by design of the program, or noise of the machine",
            thousands(more)
        ),
    };
    let without = causes.run_without_faults();
    let without = without.map_or_else(String::new, |it| format!(" {it}"));
    let note = match (choice, faults) {
        (_, 0) => format!("No incident was found{others}."),
        (IncidentChoice::Costliest { at_most }, faults) if faults > *at_most => format!(
            "The {} costliest of {} incidents{others}.",
            thousands(*at_most),
            thousands(faults)
        ),
        (IncidentChoice::Costliest { .. }, 1) => format!("One incident{others}."),
        (IncidentChoice::Costliest { .. }, faults) => {
            format!("All {} incidents{others}.", thousands(faults))
        }
        (IncidentChoice::Numbers(chosen), faults) if chosen.is_empty() => {
            format!(
                "No incident was chosen; the run has {}{others}.",
                thousands(faults)
            )
        }
        (IncidentChoice::Numbers(chosen), _) => format!(
            "{} chosen of {} incidents{others}.",
            thousands(chosen.len()),
            thousands(faults)
        ),
    };
    note + &without
}

fn run_facts(
    trace: &Trace,
    span: Option<(TimeNs, TimeNs)>,
    snapshot: &Snapshot,
) -> Vec<ReportFact> {
    let hosts = trace.identity.hosts();
    let length = span.map_or(DurationNs::ZERO, |(begin, end)| end.since(begin));
    // The calls may be in another process.
    let calls = snapshot.calls().map(AsRef::as_ref);
    let num_calls = calls.map_or_else(|| trace.num_executions(), Calls::num_calls);
    let num_messages = calls.map_or(trace.messages.len(), Calls::num_messages);
    let written: DurationNs = trace.writes.iter().map(TracerWrite::duration).sum();
    let mut facts = vec![ReportFact::new("Run", trace.identity.id())];
    if let Some(source) = &snapshot.source {
        facts.push(ReportFact::new("Source", source));
    }
    if let Some(line) = trace.identity.command_line() {
        facts.push(ReportFact::new("Command", line));
    }
    if !hosts.is_empty() {
        facts.push(ReportFact::new(
            "Hosts",
            hosts.into_iter().collect::<Vec<_>>().join(", "),
        ));
    }
    facts.push(ReportFact::new(
        "Size",
        format!(
            "{} ranks, {} threads, {} calls, {} messages",
            thousands(trace.ranks().len()),
            thousands(trace.lanes.len()),
            thousands(num_calls),
            thousands(num_messages)
        ),
    ));
    if !trace.is_forest {
        facts.push(ReportFact::new("Duration", length));
    }
    if !trace.writes.is_empty() {
        facts.push(ReportFact::new(
            "Writes of the tracer",
            format!("{}, {written} in all", thousands(trace.writes.len())),
        ));
    }
    facts
}

fn quality(trace: &Trace) -> Vec<String> {
    let start = trace.time_span().map(|(start, _)| start);
    let mut by_kind: BTreeMap<_, (u64, Vec<u32>, String)> = BTreeMap::new();
    for warning in trace.warnings.damage() {
        let first = || (0, Vec::new(), warning.first.since(start));
        let (count, ranks, _) = by_kind.entry(warning.kind).or_insert_with(first);
        *count += warning.count;
        ranks.extend(warning.rank.map(|rank| rank.0));
    }
    let damage = by_kind.into_iter().map(|(kind, (count, ranks, first))| {
        let shown: Vec<String> = ranks.iter().take(MAX_RANKS).map(u32::to_string).collect();
        let more = if ranks.len() > MAX_RANKS { ", …" } else { "" };
        let ranks = match shown.len() {
            0 => String::new(),
            1 => format!(" on rank {}", shown.join("")),
            _ => format!(" on ranks {}{more}", shown.join(", ")),
        };
        format!("{kind}: {}{ranks}; first {first}", count_of(count, "time"))
    });
    let notes = trace.warnings.notes().into_iter();
    let notes = notes.map(|(kind, count)| format!("{kind}: {}", count_of(count, "time")));
    damage.chain(notes).collect()
}

fn candidates(
    snapshot: &Snapshot,
    choice: &CandidateChoice,
    begin: TimeNs,
    reasons_of: &impl Fn(TreeIdx) -> Vec<Reason>,
) -> Option<CandidateSection> {
    let (analysis, detection) = (snapshot.analysis()?, snapshot.detection()?);
    let forest = &analysis.forest;
    let (listed, listed_note) = listed_candidates(detection, choice);
    let rows = listed_rows(
        (forest, detection, &snapshot.edits.labels_by_tree),
        snapshot.causes().map(AsRef::as_ref),
        listed.into_iter(),
        reasons_of,
    );
    let lines = rows.map(|row| CandidateLine {
        begin: if forest.unit().is_time() {
            DurationNs::from_us(row.entry_us - begin.as_us()).to_string()
        } else {
            String::new()
        },
        weight: forest.unit().amount(row.weight()).to_string(),
        rareness: row
            .p_value
            .map_or_else(String::new, |it| rareness_text(it, forest.len())),
        cause: cause_text(&row),
        reasons: row.reasons.words(MAX_REASONS),
        row,
    });
    let explained = match detection.num_explained {
        0 => String::new(),
        num => format!(
            " Writes of the tracer explain {} more, which are not called abnormal.",
            thousands(num)
        ),
    };
    let mut note = format!(
        "{} executions were judged. {listed_note}{explained}",
        thousands(forest.len())
    );
    for sentence in detection.dismissed.sentences(forest.len()) {
        note.extend([" ", &sentence, "."]);
    }
    Some(CandidateSection {
        function: analysis.root_name.clone(),
        note,
        lines: lines.collect(),
    })
}

/// Returns the executions to list, the most abnormal first, and a sentence about them.
fn listed_candidates(detection: &Detection, choice: &CandidateChoice) -> (Vec<TreeIdx>, String) {
    let num_abnormal = detection.num_abnormal;
    let order = detection.order.iter().copied();
    match choice {
        CandidateChoice::MostAbnormal { at_most } => {
            let num_listed = num_abnormal.min(*at_most);
            let note = match num_abnormal {
                0 => "None is called abnormal.".to_owned(),
                _ if num_listed < num_abnormal => format!(
                    "{} are called abnormal; the {} most abnormal are listed.",
                    thousands(num_abnormal),
                    thousands(num_listed)
                ),
                1 => "One is called abnormal.".to_owned(),
                _ => format!("{} are called abnormal.", thousands(num_abnormal)),
            };
            (order.take(num_listed).collect(), note)
        }
        CandidateChoice::Selected { trees, at_most } => {
            let selected: BTreeSet<TreeIdx> = trees.iter().copied().collect();
            let listed: Vec<TreeIdx> = order.filter(|it| selected.contains(it)).collect();
            let num_selected = listed.len();
            let note = match num_selected {
                0 => "None is selected.".to_owned(),
                1 => "One is selected.".to_owned(),
                num if num > *at_most => format!(
                    "{} are selected; the {} most abnormal of them are listed.",
                    thousands(num),
                    thousands(*at_most)
                ),
                num => format!("{} are selected.", thousands(num)),
            };
            let listed = listed.into_iter().take(*at_most).collect();
            (
                listed,
                format!("{} are called abnormal. {note}", thousands(num_abnormal)),
            )
        }
    }
}

fn cause_text(row: &TreeRow) -> String {
    let role = match (row.role.as_deref(), row.root_rank) {
        (Some("root"), _) => "delayed others".to_owned(),
        (Some("victim"), Some(rank)) => format!("waited for rank {rank}"),
        (Some("undecided"), _) => "delayed; the trace does not show by whom".to_owned(),
        _ => String::new(),
    };
    let cause = row.cause.map(|cause| cause.name().to_owned());
    cause.or_else(|| row.by_design.clone()).unwrap_or(role)
}

fn label_lines(snapshot: &Snapshot) -> Vec<LabelLine> {
    let of_trees = snapshot
        .edits
        .labels
        .iter()
        .map(|it| (it, &snapshot.edits.labels));
    let of_records = snapshot.edits.record_labels.iter();
    let of_records = of_records.map(|it| (it, &snapshot.edits.record_labels));
    let mut seen: BTreeSet<LabelKey> = BTreeSet::new();
    let all = of_trees.chain(of_records);
    let lines = all.filter_map(|((key, label), set)| {
        let LabelOrigin { by, at } = set.origin(key).cloned().unwrap_or_default();
        seen.insert(key).then(|| LabelLine {
            execution: key.to_string(),
            label: label.name(),
            by: by.map_or_else(String::new, |by| by.to_string()),
            at: at.map_or_else(String::new, |at| format!("{} UTC", at.utc())),
        })
    });
    lines.collect()
}

fn marks(snapshot: &Snapshot, begin: TimeNs) -> Vec<(String, String)> {
    let marks = snapshot.edits.marks.iter();
    let line = |mark: &Mark| {
        let from = mark.range.from.since(begin);
        let time = if mark.range.from == mark.range.to {
            from.to_string()
        } else {
            format!("{from} to {}", mark.range.to.since(begin))
        };
        (time, mark.text.clone())
    };
    marks.map(line).collect()
}

fn settings(snapshot: &Snapshot) -> Vec<ReportFact> {
    let ModelSettings { nu, gamma, rate } = snapshot.model.settings;
    let is_default = if snapshot.model.settings == snapshot.model.default_settings {
        "the defaults"
    } else {
        "changed by a user"
    };
    let count = |label| thousands(snapshot.edits.labels.count(label));
    vec![
        ReportFact::new(
            "Model",
            format!(
                "ν {nu}, kernel factor {gamma}, false alarms {rate} of those called abnormal ({is_default})"
            ),
        ),
        ReportFact::new(
            "Learned from",
            format!(
                "{} labels normal, {} labels abnormal",
                count(Label::Normal),
                count(Label::Abnormal)
            ),
        ),
    ]
}
