//! Changes as sentences.

use std::collections::BTreeSet;

use callgrove_compare::{
    ALL_INCIDENTS, CallStructure, ChangeAspect, ChangeSubject, IncidentSample, PathId, RunChange,
};
use callgrove_model::{DurationNs, thousands};

use super::comparison::RunComparison;

/// Maximum number of callees that a sentence about a structure names.
const NUM_CALLEES: usize = 3;

impl RunComparison {
    /// Returns a change as a sentence.
    pub(super) fn sentence(&self, change: &RunChange) -> String {
        let cost = cost(change);
        let doubt = if change.is_sure() {
            String::new()
        } else {
            doubt(change)
        };
        let fact = match change.aspect {
            ChangeAspect::Duration => self.duration(change),
            ChangeAspect::Waiting => self.waiting(change),
            ChangeAspect::Frequency => self.frequency(change),
            ChangeAspect::New | ChangeAspect::Vanished => self.presence(change),
        };
        format!("{fact}: {cost}{doubt}")
    }

    fn duration(&self, change: &RunChange) -> String {
        let what = match &change.subject {
            ChangeSubject::Iterations => "an iteration".to_owned(),
            subject => self.place(subject),
        };
        let times = [change.before, change.after].map(|ns| DurationNs::nearest(ns).to_string());
        format!(
            "{what} takes {} in {} ({} instead of {})",
            times_as(change, "long"),
            self.labels[1],
            times[1],
            times[0],
        )
    }

    fn waiting(&self, change: &RunChange) -> String {
        let times = [change.before, change.after].map(|ns| DurationNs::nearest(ns).to_string());
        format!(
            "a rank waits {} in {} in {} ({} an iteration instead of {})",
            times_as(change, "long"),
            self.place(&change.subject),
            self.labels[1],
            times[1],
            times[0],
        )
    }

    fn frequency(&self, change: &RunChange) -> String {
        if let ChangeSubject::Incidents(kind) = &change.subject {
            return self.incidents(kind);
        }
        format!(
            "{} is called {} in {} ({} times an iteration and rank instead of {})",
            self.place(&change.subject),
            times_as(change, "often"),
            self.labels[1],
            figure(change.after),
            figure(change.before),
        )
    }

    fn incidents(&self, kind: &str) -> String {
        let is_any = kind == ALL_INCIDENTS;
        let num = |side: usize| -> usize {
            let runs = self.sides[side].iter().map(|it| &it.side);
            let in_run = runs.map(|run| match run.incidents.get(kind) {
                _ if is_any => run.all_incidents().num_incidents(),
                sample => sample.map_or(0, IncidentSample::num_incidents),
            });
            in_run.sum()
        };
        let (before, after) = (num(0), num(1));
        let side = usize::from(after > 0);
        let mut runs = self.sides[side].iter();
        let example = runs.find_map(|it| it.costliest.get(kind));
        let what = if is_any {
            String::new()
        } else {
            format!(" of the kind `{kind}`")
        };
        let example = example.map_or_else(String::new, |it| format!(", such as \"{it}\""));
        format!(
            "{} incidents{what} in {} iterations of {}, {} in {} of {}{example}",
            thousands(after),
            thousands(self.num_iterations_of(1)),
            self.labels[1],
            thousands(before),
            thousands(self.num_iterations_of(0)),
            self.labels[0],
        )
    }

    fn presence(&self, change: &RunChange) -> String {
        let is_new = change.aspect == ChangeAspect::New;
        let (with, without) = if is_new {
            (self.labels[1], self.labels[0])
        } else {
            (self.labels[0], self.labels[1])
        };
        let num = DurationNs::nearest(change.before.max(change.after)).0;
        let num = thousands(usize::try_from(num).unwrap_or(0));
        match &change.subject {
            ChangeSubject::CallStructure(shape) => format!(
                "in {num} calls in {with} {} {}, as in no call in {without}",
                self.place(&change.subject),
                self.structure(shape, is_new),
            ),
            subject => format!(
                "{} is called {num} times in {with}, and never in {without}",
                self.place(subject)
            ),
        }
    }

    /// Returns how a structure differs from the most frequent one of the side that lacks it.
    fn structure(&self, shape: &CallStructure, is_new: bool) -> String {
        let other = &self.sides[usize::from(!is_new)];
        let of_path = other.iter().flat_map(|it| &it.side.shapes);
        let of_path = of_path.filter(|(it, _)| it.path == shape.path);
        let usual = of_path.max_by_key(|(it, presence)| (presence.num_calls, *it));
        let usual: BTreeSet<PathId> = usual
            .map(|(it, _)| it.callees.iter().copied().collect())
            .unwrap_or_default();
        let own: BTreeSet<PathId> = shape.callees.iter().copied().collect();
        let added = self.callees(own.difference(&usual));
        let left_out = self.callees(usual.difference(&own));
        match (added.is_empty(), left_out.is_empty()) {
            (false, true) => format!("also calls {added}"),
            (true, false) => format!("does not call {left_out}"),
            (false, false) => format!("calls {added} and not {left_out}"),
            (true, true) => "has another combination of calls inside it".to_owned(),
        }
    }

    fn callees<'a>(&self, all: impl Iterator<Item = &'a PathId>) -> String {
        let names: Vec<String> = all
            .map(|path| format!("`{}`", self.function_of(&ChangeSubject::Path(*path))))
            .collect();
        match names.len().checked_sub(NUM_CALLEES) {
            Some(more) if more > 0 => {
                format!("{} and {more} more", names[..NUM_CALLEES].join(", "))
            }
            _ => names.join(", "),
        }
    }

    /// Returns a function with its caller, where that matters.
    fn place(&self, subject: &ChangeSubject) -> String {
        let function = self.function_of(subject);
        let path = self.path_of(subject);
        match path.len().checked_sub(2).and_then(|at| path.get(at)) {
            Some(caller) => format!("`{function}` under `{caller}`"),
            None => format!("`{function}`"),
        }
    }
}

/// Returns the ratio with its interval, as in "1.8 times as long (1.6 to 2.0)".
fn times_as(change: &RunChange, quantity: &str) -> String {
    match change.ratio {
        Some(ratio) => format!("{} times as {quantity}{}", figure(ratio), interval(change)),
        None if quantity == "often" => "more often".to_owned(),
        None => "longer".to_owned(),
    }
}

fn interval(change: &RunChange) -> String {
    let Some((low, high)) = change.interval else {
        return String::new();
    };
    let [low, high] = [low, high].map(figure);
    if low == high {
        return String::new();
    }
    format!(" ({low} to {high})")
}

fn cost(change: &RunChange) -> String {
    let cost = change.cost();
    let size = DurationNs(cost.0.saturating_abs());
    let way = if cost.0 < 0 { "less" } else { "more" };
    format!("{size} {way}")
}

fn doubt(change: &RunChange) -> String {
    let blocks = change.blocks.map_or_else(String::new, |(with, all)| {
        format!("it occurs in {with} of {all} blocks; ")
    });
    let percent = (change.p_value * 100.0).max(0.1);
    format!(" ({blocks}chance does that in {percent:.1} % of all pairs of runs)")
}

/// Writes a figure with as many digits as are needed to see a difference from 1.
fn figure(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if (0.9..1.1).contains(&v) => 3,
        v if v >= 10.0 => 1,
        v if v < 0.1 => 3,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (1.8, "1.8"),
            (1.0123, "1.012"),
            (0.5, "0.5"),
            (12.34, "12.3"),
            (250.4, "250"),
            (0.012, "0.012"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
