//! Targets of the go-to box: executions, records, ranks, functions, times, views.

use callgrove_actions::{Action, View};
use callgrove_model::{DurationNs, ExecLabel, FunctionName, ProgramId, RankId, TimeNs, TreeCode};
use callgrove_session::{Command, InspectCommand, Selection, Snapshot, TimeRange, UserCommand};
use callgrove_watch::{Scope, WatchCommand};

use super::picker::{Choice, fit};

/// The target of a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Target {
    Command(UserCommand),
    Action(Action),
    /// A rank, shown as the topmost row of the timeline.
    Rank(ProgramId, RankId),
    /// A command, and the view that shows its answer.
    Shown(View, UserCommand),
}

/// Returns everything that matches the typed text, exact names first.
pub(crate) fn targets(snapshot: &Snapshot, typed: &str) -> Vec<Choice<Target>> {
    let mut found = Vec::new();
    found.extend(execution(snapshot, typed));
    found.extend(record(snapshot, typed));
    found.extend(time_of_run(snapshot, typed));
    found.extend(rank(snapshot, typed));
    found.extend(functions(snapshot, typed));
    found.extend(views(typed));
    found
}

/// Parses `#3-29`; the `#` is optional.
fn execution(snapshot: &Snapshot, typed: &str) -> Vec<Choice<Target>> {
    let code = || {
        let (rank, index) = typed.trim_start_matches('#').split_once('-')?;
        Some(TreeCode {
            rank: RankId(rank.parse().ok()?),
            index: index.parse().ok()?,
        })
    };
    let (Some(analysis), Some(code)) = (snapshot.analysis(), code()) else {
        return Vec::new();
    };
    let choice = |tree| Choice {
        text: format!("{code} {}", analysis.root_name),
        hint: "execution".to_owned(),
        value: Target::Command(Command::Select(Selection::One(tree)).into()),
    };
    analysis.forest.find(code).map(choice).collect()
}

/// Parses `3:12:345`, looked up in the trace and among the records.
fn record(snapshot: &Snapshot, typed: &str) -> Vec<Choice<Target>> {
    let Some(label) = ExecLabel::parse(typed) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(trace) = snapshot.trace() {
        let programs: Vec<ProgramId> = (trace.ranks().into_iter())
            .filter(|(_, rank)| *rank == label.rank)
            .map(|(program, _)| program)
            .collect();
        found.extend(programs.into_iter().map(|program| Choice {
            text: format!("Event {label} in the trace"),
            hint: "call".to_owned(),
            value: Target::Shown(
                View::Timeline,
                UserCommand::OpenExecution { program, label },
            ),
        }));
    }
    if snapshot.watch.is_attached() {
        found.push(Choice {
            text: format!("Record {label}"),
            hint: "record".to_owned(),
            value: Target::Command(WatchCommand::query_event(label).into()),
        });
    }
    found
}

/// Parses `1.25 s`, a time since the start of the run.
fn time_of_run(snapshot: &Snapshot, typed: &str) -> Option<Choice<Target>> {
    let (start, end) = snapshot.time_span()?;
    let after = duration(typed)?;
    let at = TimeNs(start.0.saturating_add(after.0)).min(end);
    Some(Choice {
        text: format!("{after} after the start of the run"),
        hint: "time".to_owned(),
        value: Target::Shown(
            View::Timeline,
            InspectCommand::Range(Some(TimeRange::between(at, at))).into(),
        ),
    })
}

/// Parses a number with a unit of time.
fn duration(text: &str) -> Option<DurationNs> {
    let split = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().replace(',', ".").parse().ok()?;
    let unit_ns = match unit.trim() {
        "s" => 1e9,
        "ms" => 1e6,
        "us" | "µs" => 1e3,
        "ns" => 1.0,
        _ => return None,
    };
    (number >= 0.0).then_some(DurationNs((number * unit_ns) as i64))
}

/// Parses `rank 3` or `r3`.
fn rank(snapshot: &Snapshot, typed: &str) -> Vec<Choice<Target>> {
    let lower = typed.to_lowercase();
    let number = lower
        .strip_prefix("rank")
        .or_else(|| lower.strip_prefix('r'));
    let Some(Ok(number)) = number.map(|number| number.trim().parse::<u32>()) else {
        return Vec::new();
    };
    let ranks = snapshot.trace().map(|trace| trace.ranks());
    let of_trace = ranks.into_iter().flatten();
    let rows = (of_trace.filter(|(_, rank)| rank.0 == number)).map(|(program, rank)| Choice {
        text: format!("Rank {number} on the timeline"),
        hint: "rank".to_owned(),
        value: Target::Rank(program, rank),
    });
    let programs = snapshot.watch.overview().programs_of_rank(number);
    let records = programs.into_iter().map(|app| Choice {
        text: format!("Records of rank {number}"),
        hint: "rank".to_owned(),
        value: Target::Command(
            WatchCommand::QueryScope(Scope {
                rank: Some((app, number)),
                ..Scope::default()
            })
            .into(),
        ),
    });
    rows.chain(records).collect()
}

fn functions(snapshot: &Snapshot, typed: &str) -> Vec<Choice<Target>> {
    let Some(trace) = snapshot.trace().filter(|_| !typed.is_empty()) else {
        return Vec::new();
    };
    let mut found: Vec<(usize, Choice<Target>)> = trace
        .names
        .iter()
        .filter_map(|(_, full)| {
            let name = FunctionName::parse(full);
            let function = full.to_owned();
            let choice = Choice {
                text: format!("Compare executions of {}", name.short),
                hint: "function".to_owned(),
                value: Target::Command(Command::SetRoot { function }.into()),
            };
            Some((fit(name.qualified, typed)?, choice))
        })
        .collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, choice)| choice).collect()
}

fn views(typed: &str) -> Vec<Choice<Target>> {
    let fitting = View::ALL
        .into_iter()
        .filter(|view| fit(view.name(), typed).is_some());
    fitting
        .map(|view| Choice {
            text: view.name().to_owned(),
            hint: "view".to_owned(),
            value: Target::Action(Action::Focus(view)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::demo_snapshot;

    use super::*;

    fn texts(typed: &str) -> Vec<String> {
        let found = targets(&demo_snapshot(), typed);
        found.into_iter().map(|choice| choice.text).collect()
    }

    #[test]
    fn typed_text_finds_executions_events_times_and_views() {
        assert_eq!(texts("#0-3").len(), 1);
        assert!(texts("0-3")[0].starts_with("#0-3 "));
        assert_eq!(texts("0:0:1"), ["Event 0:0:1 in the trace"]);
        assert_eq!(texts("1,5 ms")[0], "1.5 ms after the start of the run");
        assert_eq!(texts("timel"), ["Timeline"]);
        assert_eq!(texts("rank 1"), ["Rank 1 on the timeline"]);
        assert_eq!(texts("9:9"), [""; 0]);
    }
}
