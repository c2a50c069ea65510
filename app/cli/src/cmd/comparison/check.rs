//! `callgrove check`: whether runs are as good as a reference.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use callgrove_args::{CheckArgs, CheckKind, CheckReportArgs};
use callgrove_check::{
    AbnormalSettings, CheckReference, CheckReport, CheckResult, CheckVerdict, CheckedRun,
    CheckedRuns, Outcome, Stages,
};
use callgrove_headless::{Readers, replace_file_with};
use callgrove_model::Progress;
use callgrove_pipeline::read_tree_model;
use callgrove_source::SourceError;

use super::sides::{read_baseline, read_side};
use crate::exit::Exit;
use crate::host::check_source;
use crate::output::{Clock, print, warn, with_progress};

/// The file of the summary of a step, as GitHub Actions name it.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

pub(crate) fn run(args: &CheckArgs) -> Result<Exit> {
    args.runs
        .iter()
        .chain(&args.reference)
        .try_for_each(|it| check_name(it))?;
    if let Some(file) = args.baseline.as_deref().filter(|it| !it.exists()) {
        bail!("no such file: {}", file.display());
    }
    let mut clock = Clock::new(args.timings);
    let mut report = CheckReport {
        runs: args.runs.clone(),
        references: match &args.baseline {
            Some(file) => vec![file.display().to_string()],
            None => args.reference.clone(),
        },
        results: Vec::new(),
        figures: Vec::new(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let exit = match check_all(args, &mut report, &mut clock) {
        Ok(exit) => exit,
        // A job in continuous integration needs its report in this case, too.
        Err(error) => {
            report.results = unchecked(args, &error);
            Exit::Success
        }
    };
    write_files(&report, &args.reports)?;
    print(|out| {
        report.write_text(out)?;
        if args.reports.github {
            report.write_github(out)?;
        }
        Ok(())
    })?;
    let of_checks = match report.verdict() {
        CheckVerdict::Passed => Exit::Success,
        CheckVerdict::Failed => Exit::Failed,
        CheckVerdict::Unchecked => Exit::Unchecked,
    };
    Ok(of_checks.and(exit))
}

/// Refuses a name of nothing. That is a mistake of the command and no outcome: a job may be set to ignore what is not
/// checked.
fn check_name(source: &str) -> Result<()> {
    let Err(error) = check_source(source) else {
        return Ok(());
    };
    match error.downcast_ref() {
        Some(
            SourceError::NotFound { .. }
            | SourceError::BadPattern { .. }
            | SourceError::NoMatch { .. },
        ) => Err(error),
        _ => Ok(()),
    }
}

fn write_files(report: &CheckReport, to: &CheckReportArgs) -> Result<()> {
    type Write = fn(&CheckReport, &mut dyn io::Write) -> io::Result<()>;
    let files: [(&Option<std::path::PathBuf>, Write); 5] = [
        (&to.junit, CheckReport::write_junit),
        (&to.markdown, CheckReport::write_markdown),
        (&to.json, CheckReport::write_json),
        (&to.sarif, CheckReport::write_sarif),
        (&to.metrics, CheckReport::write_metrics),
    ];
    for (path, write) in files {
        if let Some(path) = path {
            replace_file_with(path, Readers::ByMask, |file| write(report, file))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if to.github
        && let Some(path) = std::env::var_os(SUMMARY_VARIABLE)
    {
        let summary = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path);
        summary
            .and_then(|mut file| report.write_markdown(&mut file))
            .with_context(|| format!("cannot write {}", Path::new(&path).display()))?;
    }
    Ok(())
}

/// Returns the outcome of each check of what could not be read.
fn unchecked(args: &CheckArgs, error: &anyhow::Error) -> Vec<CheckResult> {
    let mut kinds = args.fail_on.clone();
    if kinds.is_empty() {
        kinds = vec![CheckKind::Incident, CheckKind::Abnormal, CheckKind::Slower];
    }
    let reason = format!("{error:#}");
    let outcomes = kinds.into_iter();
    outcomes
        .map(|kind| CheckResult {
            check: kind.name(),
            outcome: Outcome::Unchecked(reason.clone()),
            seconds: 0.0,
        })
        .collect()
}

/// Adds the outcomes of all checks to a report. Returns the exit code for the damage of the traces.
fn check_all(args: &CheckArgs, report: &mut CheckReport, clock: &mut Clock) -> Result<Exit> {
    let (reference, mut exit) = read_reference(args, clock)?;
    let (runs, of_runs) = read_side(&args.runs, clock).context("cannot read the run")?;
    exit = exit.and(of_runs);
    let checked = CheckedRuns::new(reference, runs)?;
    for limit in checked.comparison().iter().flat_map(|it| it.limits()) {
        warn(&limit);
    }
    let visible = checked.smallest_visible_percent();
    let figure = visible.map(|it| ("callgrove_smallest_visible_percent", it));
    report.figures.extend(figure);
    let settings = AbnormalSettings {
        function: args.function.clone(),
        seed: args.seed,
    };
    for kind in kinds(args, &checked) {
        let start = std::time::Instant::now();
        let outcome = match kind {
            CheckKind::Incident => checked.incidents(),
            CheckKind::Slower => checked.slower(args.max_slowdown.0),
            CheckKind::Abnormal => checked.abnormal(&settings, &ShownStages),
        };
        report.results.push(CheckResult {
            check: kind.name(),
            // What cannot be judged is an outcome, not an error of the program.
            outcome: outcome.unwrap_or_else(|error| Outcome::Unchecked(format!("{error:#}"))),
            seconds: start.elapsed().as_secs_f64(),
        });
        clock.lap(kind.name());
    }
    Ok(exit)
}

/// Reads a saved model, a baseline or runs.
fn read_reference(args: &CheckArgs, clock: &mut Clock) -> Result<(CheckReference, Exit)> {
    if let Some(file) = &args.baseline {
        let baseline = read_baseline(file)?;
        let runs: Vec<CheckedRun> = baseline
            .runs()
            .iter()
            .map(CheckedRun::of_baseline)
            .collect();
        ensure!(!runs.is_empty(), "{} has no run", file.display());
        return Ok((CheckReference::Runs(runs), Exit::Success));
    }
    if let [source] = &args.reference[..]
        && Path::new(source).is_file()
        && let Ok(model) = read_tree_model(Path::new(source))
    {
        return Ok((CheckReference::Model(Box::new(model)), Exit::Success));
    }
    let read = read_side(&args.reference, clock);
    let (runs, exit) =
        read.with_context(|| format!("cannot use the reference {}", args.reference.join(", ")))?;
    Ok((CheckReference::Runs(runs), exit))
}

/// Returns the requested checks, or all that the reference allows; each once, in order.
fn kinds(args: &CheckArgs, checked: &CheckedRuns) -> Vec<CheckKind> {
    let mut kinds = args.fail_on.clone();
    if kinds.is_empty() {
        kinds.push(CheckKind::Incident);
        if checked.judges_executions() {
            kinds.push(CheckKind::Abnormal);
        }
        if checked.comparison().is_some() {
            kinds.push(CheckKind::Slower);
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Shows the progress of a check on standard error.
struct ShownStages;

impl Stages for ShownStages {
    fn run<T>(&self, name: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
        with_progress(name, work)
    }
}
