//! The outcomes of the checks of a run.

use callgrove_export::{JunitCase, JunitOutcome};

use crate::exit::Exit;
use callgrove_args::CheckKind;

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Nothing was found; the text says what was looked at.
    Passed(String),
    /// Something was found: how much, and each as a sentence, the costliest first.
    Failed { summary: String, found: Vec<String> },
    /// It could not be judged, for this reason.
    Unchecked(String),
}

/// All checks of a run, in order.
pub(super) struct Outcomes {
    pub(super) run: String,
    pub(super) reference: String,
    pub(super) all: Vec<(CheckKind, Outcome)>,
}

impl Outcome {
    /// Returns the outcome as a word.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Failed { .. } => "failed",
            Self::Unchecked(_) => "not checked",
        }
    }

    /// Returns the reason in one line.
    pub(super) fn summary(&self) -> &str {
        match self {
            Self::Passed(text) | Self::Unchecked(text) => text,
            Self::Failed { summary, .. } => summary,
        }
    }

    /// Returns what was found.
    pub(super) fn found(&self) -> &[String] {
        match self {
            Self::Failed { found, .. } => found,
            Self::Passed(_) | Self::Unchecked(_) => &[],
        }
    }
}

impl Outcomes {
    /// Returns the exit code: a failed check counts more than one that could not be judged.
    pub(super) fn exit(&self) -> Exit {
        let is_any = |is: fn(&Outcome) -> bool| self.all.iter().any(|(_, outcome)| is(outcome));
        if is_any(|it| matches!(it, Outcome::Failed { .. })) {
            Exit::Failed
        } else if is_any(|it| matches!(it, Outcome::Unchecked(_))) {
            Exit::Unchecked
        } else {
            Exit::Success
        }
    }

    /// Returns the checks for JUnit.
    pub(super) fn junit(&self) -> Vec<JunitCase> {
        let cases = self.all.iter().map(|(kind, outcome)| JunitCase {
            name: kind.name().to_owned(),
            outcome: match outcome {
                Outcome::Passed(_) => JunitOutcome::Passed,
                Outcome::Failed { summary, found } => JunitOutcome::Failed {
                    message: summary.clone(),
                    details: found.join("\n"),
                },
                Outcome::Unchecked(reason) => JunitOutcome::Error(reason.clone()),
            },
        });
        cases.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_more_than_a_check_that_could_not_be_done() {
        let exit = |outcomes: &[Outcome]| {
            let all = outcomes.iter().cloned();
            let all = all.map(|outcome| (CheckKind::Slower, outcome)).collect();
            let [run, reference] = ["run", "reference"].map(str::to_owned);
            Outcomes {
                run,
                reference,
                all,
            }
            .exit()
        };
        let passed = Outcome::Passed(String::new());
        let unchecked = Outcome::Unchecked(String::new());
        let failed = Outcome::Failed {
            summary: String::new(),
            found: Vec::new(),
        };
        assert_eq!(exit(&[passed.clone(), passed.clone()]), Exit::Success);
        assert_eq!(exit(&[passed, unchecked.clone()]), Exit::Unchecked);
        assert_eq!(exit(&[unchecked, failed]), Exit::Failed);
    }
}
