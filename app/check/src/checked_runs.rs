//! Runs, and the reference that they are checked against.

use anyhow::{Context, Result, bail, ensure};
use callgrove_compare::{MIN_RUNS, SampledRun};
use callgrove_model::{DurationNs, count_of, thousands};
use callgrove_query::{ChangeRow, ComparedRun, RunComparison};
use callgrove_session::SavedModel;

use super::abnormal::{AbnormalSettings, CheckedBy, judge_runs};
use super::baseline::BaselineRun;
use super::outcome::Outcome;
use super::stages::Stages;

/// The smallest visible slowdown, as a share, from which on a check has judged nothing: a doubling.
const LARGEST_VISIBLE: f64 = 1.0;

/// A run of one side.
#[derive(Debug)]
pub struct CheckedRun {
    /// The run with its trace, unless it is from a baseline.
    pub of_trace: Option<ComparedRun>,
    /// What is compared.
    pub samples: SampledRun,
    /// The commit that it is of, as far as a baseline says.
    pub commit: Option<String>,
}

impl CheckedRun {
    /// Returns a run of a baseline.
    pub fn of_baseline(run: &BaselineRun) -> Self {
        Self {
            of_trace: None,
            samples: run.run.clone(),
            commit: run.commit.clone(),
        }
    }
}

/// Compares the runs of two sides, which sentences name by `labels`.
///
/// # Errors
/// The numbers of runs allow neither blocks nor runs as the unit.
pub fn compare_sides(
    before: &[CheckedRun],
    after: &[CheckedRun],
    labels: [&'static str; 2],
) -> Result<RunComparison> {
    let numbers = [before.len(), after.len()];
    ensure!(
        numbers == [1, 1] || numbers.iter().max() >= Some(&MIN_RUNS) && !numbers.contains(&0),
        "there are {} and {} runs: give one run a side, or {MIN_RUNS} and more of at least one, so that it can be seen what \
         runs differ by",
        numbers[0],
        numbers[1]
    );
    let [before, after] = [before, after].map(|runs| {
        runs.iter()
            .map(|it| &it.samples)
            .collect::<Vec<&SampledRun>>()
    });
    Ok(RunComparison::of_samples([&before, &after], labels))
}

/// The reference of a check.
#[derive(Debug)]
pub enum CheckReference {
    /// Runs in which all is well.
    Runs(Vec<CheckedRun>),
    /// What was learned from one.
    Model(Box<SavedModel>),
}

/// Runs, and what they are compared with.
#[derive(Debug)]
pub struct CheckedRuns {
    reference: CheckReference,
    runs: Vec<CheckedRun>,
    /// Unless the reference is a model.
    comparison: Option<RunComparison>,
}

impl CheckedRuns {
    /// Compares runs with a reference.
    ///
    /// # Errors
    /// The numbers of runs allow no comparison.
    pub fn new(reference: CheckReference, runs: Vec<CheckedRun>) -> Result<Self> {
        let comparison = match &reference {
            CheckReference::Runs(before) => {
                let run = if runs.len() > 1 {
                    "the runs"
                } else {
                    "the run"
                };
                Some(compare_sides(before, &runs, ["the reference", run])?)
            }
            CheckReference::Model(_) => None,
        };
        Ok(Self {
            reference,
            runs,
            comparison,
        })
    }

    /// Returns the comparison, unless the reference is a model.
    pub fn comparison(&self) -> Option<&RunComparison> {
        self.comparison.as_ref()
    }

    /// Returns the smallest slowdown that would be found, in percent: of an iteration, or else of the call path that takes
    /// most of the time.
    pub fn smallest_visible_percent(&self) -> Option<f64> {
        let (share, _) = self.comparison.as_ref()?.smallest_visible()?;
        Some((share * 1_000.0).ceil() / 10.0)
    }

    /// Returns whether single executions are judged unless something else is asked for: with several runs a side they are
    /// not, since every run has a few unusual ones.
    pub fn judges_executions(&self) -> bool {
        let is_repeated = self.comparison.as_ref().map(RunComparison::num_runs) > Some([1, 1]);
        self.judged_by().is_some() && !is_repeated
    }

    fn judged_by(&self) -> Option<CheckedBy<'_>> {
        match &self.reference {
            CheckReference::Model(model) => Some(CheckedBy::Model(model)),
            CheckReference::Runs(runs) => {
                let traces = runs.iter().find_map(|it| it.of_trace.as_ref());
                traces.map(CheckedBy::Run)
            }
        }
    }

    /// Returns the traces of all runs.
    ///
    /// # Errors
    /// A run is from a baseline.
    fn traces(&self) -> Result<Vec<&ComparedRun>> {
        let traces = self.runs.iter().map(|it| it.of_trace.as_ref());
        let traces: Option<Vec<&ComparedRun>> = traces.collect();
        traces.context("a baseline has no executions and no traces: check the runs themselves")
    }

    /// Checks for abnormal executions.
    ///
    /// # Errors
    /// Why it cannot be judged.
    pub fn abnormal(&self, settings: &AbnormalSettings, stages: &impl Stages) -> Result<Outcome> {
        self.refuse_foreign()?;
        let by = self.judged_by();
        let by =
            by.context("a baseline has no executions to learn from: give a run as --reference")?;
        judge_runs(settings, &self.traces()?, &by, stages)
    }

    /// Checks for more incidents than in the reference; with a model, for any that is not by design.
    ///
    /// # Errors
    /// Why it cannot be judged.
    pub fn incidents(&self) -> Result<Outcome> {
        self.refuse_foreign()?;
        let Some(comparison) = &self.comparison else {
            return Ok(of_all_incidents(&self.traces()?));
        };
        let is_more = |row: &ChangeRow| row.kind == "incidents" && row.cost_us > 0;
        let rows = comparison.rows().into_iter().filter(is_more);
        let found: Vec<String> = rows.map(|row| row.words).collect();
        if found.is_empty() {
            let text = "no kind of incident is more frequent than in the reference";
            return Ok(Outcome::Passed(text.to_owned()));
        }
        Ok(Outcome::Failed {
            summary: format!("{} more than in the reference", kinds_of_incidents(&found)),
            found,
        })
    }

    /// Checks for slowdowns above `most`, as a share: .05 is 5 %.
    ///
    /// # Errors
    /// Why it cannot be judged.
    pub fn slower(&self, most: f64) -> Result<Outcome> {
        let comparison = self
            .comparison
            .as_ref()
            .context("a model has no durations to compare with: give a run as --reference")?;
        self.refuse_foreign()?;
        let all = comparison.comparison();
        if all.is_short {
            bail!("{}", comparison.limits().join("; "));
        }
        let is_too_slow = |row: &ChangeRow| row.ratio.unwrap_or(f64::INFINITY) > 1.0 + most;
        let rows = comparison.slowdown_rows().into_iter().filter(is_too_slow);
        let mut found: Vec<String> = rows.map(|row| row.words).collect();
        if found.is_empty() {
            let Some((visible, subject)) = comparison.smallest_visible() else {
                bail!(
                    "no duration can be compared that differs from run to run: is it one run, given several times?"
                );
            };
            if visible > LARGEST_VISIBLE {
                bail!(
                    "the runs differ so much from one another that not even twice the time of {subject} would have been seen: \
                     run them on a quieter machine, or longer"
                );
            }
            let most = (most * 1e4).round() / 100.0;
            let [before, after] = comparison.num_runs().map(|num| count_of(num, "run"));
            return Ok(Outcome::Passed(format!(
                "nothing takes more than {most} % longer ({after} compared with {before}: {:.1} % more of {subject} \
                 would have been seen)",
                visible * 100.0
            )));
        }
        let summary = match found.len() {
            1 => found[0].clone(),
            num => format!("{} and {} more", found[0], num - 1),
        };
        found.extend(self.last_good_commit());
        Ok(Outcome::Failed { summary, found })
    }

    /// Says after which commit it began, as far as a baseline says.
    fn last_good_commit(&self) -> Option<String> {
        let CheckReference::Runs(runs) = &self.reference else {
            return None;
        };
        let commit = runs.last()?.commit.as_ref()?;
        Some(format!(
            "the last run of the baseline is of commit {commit}"
        ))
    }

    /// Refuses a reference of another program, with which nothing can be compared.
    fn refuse_foreign(&self) -> Result<()> {
        match &self.comparison {
            Some(comparison) if !comparison.is_of_one_program() => {
                bail!("{}", comparison.limits().join("; "))
            }
            _ => Ok(()),
        }
    }
}

fn kinds_of_incidents(found: &[String]) -> String {
    match found.len() {
        1 => "one kind of incident is".to_owned(),
        num => format!("{num} kinds of incidents are"),
    }
}

/// Returns the outcome without a run to compare with: any incident fails.
fn of_all_incidents(runs: &[&ComparedRun]) -> Outcome {
    let (mut cost, mut found) = (DurationNs(0), Vec::new());
    for run in runs {
        let causes = run.causes();
        let all = causes.incidents().iter();
        for unusual in all.filter(|it| !it.kind.is_by_design()) {
            cost = [cost, unusual.delay].into_iter().sum();
            found.push(causes.incident_sentence(unusual));
        }
    }
    if found.is_empty() {
        return Outcome::Passed("no incidents but those by design".to_owned());
    }
    let num = thousands(found.len());
    Outcome::Failed {
        summary: format!("{num} incidents, which delay all ranks together by {cost}"),
        found,
    }
}
