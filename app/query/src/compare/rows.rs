//! Changes as table rows with fixed column names. Times are in microseconds.

use callgrove_compare::{ChangeAspect, ChangeSubject, RunChange};
use callgrove_model::FunctionName;
use serde::Serialize;

use super::comparison::RunComparison;

/// One change: a row of `callgrove compare`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ChangeRow {
    /// The subject of the change: `iterations`, `function`, `path`, `structure` or `incidents`.
    pub kind: &'static str,
    /// In which way: `duration`, `frequency`, `waiting`, `new` or `vanished`.
    pub aspect: &'static str,
    /// The function, without arguments, or the kind of incident; empty for iterations.
    pub function: String,
    /// The functions on the stack, the outermost first.
    pub path: Vec<String>,
    /// The value before: microseconds of `duration` (a call or an iteration) and of `waiting` (an iteration and rank),
    /// calls (an iteration and rank) or incidents (an iteration) of `frequency`, calls of the others.
    pub before: f64,
    /// The value after.
    pub after: f64,
    /// The ratio of the two; `None` if the value before is 0.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % confidence interval.
    pub ratio_low: Option<f64>,
    /// Its upper end.
    pub ratio_high: Option<f64>,
    /// Time that the second run takes longer by it, over all ranks; negative if it takes less.
    pub cost_us: i64,
    /// Probability of such a difference by chance.
    pub p_value: f64,
    /// The same, corrected for the number of comparisons.
    pub corrected_p: f64,
    /// False if it may be chance.
    pub sure: bool,
    /// The change as a sentence.
    pub words: String,
}

impl ChangeRow {
    pub(super) fn new(run: &RunComparison, change: &RunChange) -> Self {
        let in_us = match change.aspect {
            ChangeAspect::Duration | ChangeAspect::Waiting => 1e-3,
            ChangeAspect::Frequency | ChangeAspect::New | ChangeAspect::Vanished => 1.0,
        };
        Self {
            kind: kind(&change.subject),
            aspect: aspect(change.aspect),
            function: run.function_of(&change.subject),
            path: run.path_of(&change.subject),
            before: change.before * in_us,
            after: change.after * in_us,
            ratio: change.ratio,
            ratio_low: change.interval.map(|it| it.0),
            ratio_high: change.interval.map(|it| it.1),
            cost_us: change.cost().as_us(),
            p_value: change.p_value,
            corrected_p: change.corrected_p,
            sure: change.is_sure(),
            words: run.sentence(change),
        }
    }

    /// Returns whether it is about the duration of calls or iterations, or about waiting.
    pub fn is_of_time(&self) -> bool {
        matches!(self.aspect, "duration" | "waiting")
    }
}

fn kind(subject: &ChangeSubject) -> &'static str {
    match subject {
        ChangeSubject::Iterations => "iterations",
        ChangeSubject::Function(_) => "function",
        ChangeSubject::Path(_) => "path",
        ChangeSubject::CallStructure(_) => "structure",
        ChangeSubject::Incidents(_) => "incidents",
    }
}

fn aspect(aspect: ChangeAspect) -> &'static str {
    match aspect {
        ChangeAspect::Duration => "duration",
        ChangeAspect::Frequency => "frequency",
        ChangeAspect::Waiting => "waiting",
        ChangeAspect::New => "new",
        ChangeAspect::Vanished => "vanished",
    }
}

impl RunComparison {
    /// Returns the findings as rows, the largest cost or gain first.
    pub fn rows(&self) -> Vec<ChangeRow> {
        self.rows_of(&self.comparison.changes)
    }

    /// Returns the changes that may be chance as rows, in the same order.
    pub fn possible_rows(&self) -> Vec<ChangeRow> {
        self.rows_of(&self.comparison.possible)
    }

    /// Returns the slowdowns that are findings where only slowdowns count, the costliest first.
    pub fn slowdown_rows(&self) -> Vec<ChangeRow> {
        let mut rows = self.rows_of(self.comparison.slowdowns());
        rows.sort_by_key(|row| std::cmp::Reverse(row.cost_us));
        rows
    }

    fn rows_of<'a>(&self, changes: impl IntoIterator<Item = &'a RunChange>) -> Vec<ChangeRow> {
        let rows = changes.into_iter();
        rows.map(|change| ChangeRow::new(self, change)).collect()
    }

    pub(super) fn function_of(&self, subject: &ChangeSubject) -> String {
        let name = match subject {
            ChangeSubject::Iterations => return String::new(),
            ChangeSubject::Incidents(kind) => return kind.clone(),
            ChangeSubject::Function(function) => *function,
            ChangeSubject::Path(path) => self.paths.function_of(*path),
            ChangeSubject::CallStructure(shape) => self.paths.function_of(shape.path),
        };
        FunctionName::parse(self.paths.name(name)).short.to_owned()
    }

    pub(super) fn path_of(&self, subject: &ChangeSubject) -> Vec<String> {
        let path = match subject {
            ChangeSubject::Path(path) => *path,
            ChangeSubject::CallStructure(shape) => shape.path,
            ChangeSubject::Iterations
            | ChangeSubject::Function(_)
            | ChangeSubject::Incidents(_) => {
                return Vec::new();
            }
        };
        let names = self.paths.names_of(path).into_iter();
        names
            .map(|name| FunctionName::parse(name).short.to_owned())
            .collect()
    }
}
