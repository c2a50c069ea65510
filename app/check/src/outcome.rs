//! The outcomes of checks.

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing was found; the text says what was looked at.
    Passed(String),
    /// Something was found.
    Failed {
        /// How much, in one line.
        summary: String,
        /// Each as a sentence, the costliest first.
        found: Vec<String>,
    },
    /// It could not be judged, for this reason.
    Unchecked(String),
}

/// One check and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckResult {
    /// The check: a word of the command line.
    pub check: &'static str,
    /// Its outcome.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

/// All checks of some runs, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckReport {
    /// The runs, as they were named.
    pub runs: Vec<String>,
    /// What they are compared with, as it was named.
    pub references: Vec<String>,
    /// The checks.
    pub results: Vec<CheckResult>,
    /// Figures of the comparison, each with its name: that of a metric.
    pub figures: Vec<(&'static str, f64)>,
    /// The version of the program.
    pub version: &'static str,
}

/// What all checks together say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckVerdict {
    /// All passed.
    Passed,
    /// One failed.
    Failed,
    /// None failed, and one could not be judged.
    Unchecked,
}

impl CheckVerdict {
    /// Returns the verdict as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unchecked => "not checked",
        }
    }
}

impl Outcome {
    /// Returns what it says of its check.
    pub fn verdict(&self) -> CheckVerdict {
        match self {
            Self::Passed(_) => CheckVerdict::Passed,
            Self::Failed { .. } => CheckVerdict::Failed,
            Self::Unchecked(_) => CheckVerdict::Unchecked,
        }
    }

    /// Returns the reason in one line.
    pub fn summary(&self) -> &str {
        match self {
            Self::Passed(text) | Self::Unchecked(text) => text,
            Self::Failed { summary, .. } => summary,
        }
    }

    /// Returns what was found.
    pub fn found(&self) -> &[String] {
        match self {
            Self::Failed { found, .. } => found,
            Self::Passed(_) | Self::Unchecked(_) => &[],
        }
    }
}

impl CheckReport {
    /// Returns what all checks together say: a failed check counts more than one that could not be judged.
    pub fn verdict(&self) -> CheckVerdict {
        let is_any = |verdict| {
            self.results
                .iter()
                .any(|it| it.outcome.verdict() == verdict)
        };
        if is_any(CheckVerdict::Failed) {
            CheckVerdict::Failed
        } else if is_any(CheckVerdict::Unchecked) || self.results.is_empty() {
            CheckVerdict::Unchecked
        } else {
            CheckVerdict::Passed
        }
    }

    /// Returns the runs and what they are compared with.
    pub(crate) fn title(&self) -> String {
        let list = |all: &[String]| match all {
            [first, .., last] if all.len() > 2 => {
                format!("{} runs from {first} to {last}", all.len())
            }
            all => all.join(" and "),
        };
        format!(
            "{} compared with {}",
            list(&self.runs),
            list(&self.references)
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn report(outcomes: &[Outcome]) -> CheckReport {
        let results = outcomes.iter().map(|outcome| CheckResult {
            check: "slower",
            outcome: outcome.clone(),
            seconds: 0.25,
        });
        CheckReport {
            runs: vec!["run".to_owned()],
            references: vec!["good".to_owned()],
            results: results.collect(),
            figures: vec![("callgrove_smallest_visible_percent", 4.5)],
            version: "1.2.3",
        }
    }

    pub(crate) fn failed() -> Outcome {
        Outcome::Failed {
            summary: "`f<int>` takes 2 times as long: 50 %".to_owned(),
            found: vec!["`f<int>` takes 2 times as long".to_owned(); 25],
        }
    }

    #[test]
    fn a_failure_counts_more_than_a_check_that_could_not_be_done() {
        let verdict = |outcomes: &[Outcome]| report(outcomes).verdict();
        let passed = Outcome::Passed(String::new());
        let unchecked = Outcome::Unchecked(String::new());
        assert_eq!(
            verdict(&[passed.clone(), passed.clone()]),
            CheckVerdict::Passed
        );
        assert_eq!(
            verdict(&[passed, unchecked.clone()]),
            CheckVerdict::Unchecked
        );
        assert_eq!(verdict(&[unchecked, failed()]), CheckVerdict::Failed);
        assert_eq!(verdict(&[]), CheckVerdict::Unchecked);
    }
}
