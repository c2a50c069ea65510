//! `callgrove check`: whether a run is as good as a reference.

use std::path::Path;

use anyhow::{Context, Result, bail};
use callgrove_model::{DurationNs, Forest, thousands};
use callgrove_pipeline::read_tree_model;
use callgrove_query::{ChangeRow, ComparedRun, RunComparison};
use callgrove_session::{
    Detection, Explainer, LearnSettings, ModelSettings, SavedModel, TreeDelays, analyze,
    grow_forest, rareness_text, suggest_roots, tree_rows,
};

use super::compare::{of_runs, read};
use super::outcome::{Outcome, Outcomes};
use crate::exit::Exit;
use crate::output::{Clock, print, warn, with_progress};
use callgrove_args::{CheckArgs, CheckKind, Slowdown};

/// Maximum number of reasons of an abnormal execution in a report.
const NUM_REASONS: usize = 2;

/// The reference of a check.
enum Reference {
    Run(Box<ComparedRun>),
    Model(Box<SavedModel>),
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit> {
    let mut clock = Clock::new(args.timings);
    let (all, exit) = match checked(args, &mut clock) {
        Ok(checked) => checked,
        // A job in continuous integration needs its report in this case, too.
        Err(error) => (unchecked(args, &error), Exit::Success),
    };
    let outcomes = Outcomes {
        run: args.run.clone(),
        reference: args.reference.clone(),
        all,
    };
    outcomes.write_files(args.junit.as_deref(), args.markdown.as_deref())?;
    print(|out| outcomes.write_text(out))?;
    Ok(outcomes.exit().and(exit))
}

/// Returns the outcome of each check of a run or reference that could not be read.
fn unchecked(args: &CheckArgs, error: &anyhow::Error) -> Vec<(CheckKind, Outcome)> {
    let mut kinds = args.fail_on.clone();
    if kinds.is_empty() {
        kinds = vec![CheckKind::Incident, CheckKind::Abnormal, CheckKind::Slower];
    }
    let reason = format!("{error:#}");
    let outcomes = kinds.into_iter();
    outcomes
        .map(|kind| (kind, Outcome::Unchecked(reason.clone())))
        .collect()
}

/// Returns the outcomes of all checks, and the exit code for the damage of the traces.
fn checked(args: &CheckArgs, clock: &mut Clock) -> Result<(Vec<(CheckKind, Outcome)>, Exit)> {
    let (reference, mut exit) = read_reference(&args.reference, clock)
        .with_context(|| format!("cannot use the reference {}", args.reference))?;
    let (run, exit_of_run) =
        read(&args.run, clock).with_context(|| format!("cannot read {}", args.run))?;
    exit = exit.and(exit_of_run);
    let comparison = match &reference {
        Reference::Run(reference) => Some(of_runs(reference, &run)?),
        Reference::Model(_) => None,
    };
    for limit in comparison.iter().flat_map(RunComparison::limits) {
        warn(&limit);
    }
    let mut all = Vec::new();
    for kind in kinds(args, &reference) {
        let outcome = match kind {
            CheckKind::Incident => incidents(&run, comparison.as_ref()),
            CheckKind::Slower => slower(comparison.as_ref(), args.max_slowdown),
            // What cannot be judged is an outcome, not an error of the program.
            CheckKind::Abnormal => abnormal(args, &run, &reference)
                .unwrap_or_else(|error| Outcome::Unchecked(format!("{error:#}"))),
        };
        all.push((kind, outcome));
        clock.lap(kind.name());
    }
    Ok((all, exit))
}

/// Reads a saved model or a run.
fn read_reference(source: &str, clock: &mut Clock) -> Result<(Reference, Exit)> {
    let path = Path::new(source);
    if path.is_file()
        && let Ok(model) = read_tree_model(path)
    {
        return Ok((Reference::Model(Box::new(model)), Exit::Success));
    }
    let (run, exit) = read(source, clock)?;
    Ok((Reference::Run(Box::new(run)), exit))
}

/// Returns the requested checks, or all that the reference allows; each once, in order.
fn kinds(args: &CheckArgs, reference: &Reference) -> Vec<CheckKind> {
    let mut kinds = args.fail_on.clone();
    if kinds.is_empty() {
        kinds.extend([CheckKind::Incident, CheckKind::Abnormal]);
        if matches!(reference, Reference::Run(_)) {
            kinds.push(CheckKind::Slower);
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn incidents(run: &ComparedRun, comparison: Option<&RunComparison>) -> Outcome {
    let Some(comparison) = comparison else {
        return of_all_incidents(run);
    };
    let is_more = |row: &ChangeRow| row.kind == "incidents" && row.cost_us > 0;
    let rows = comparison.rows().into_iter().filter(is_more);
    let found: Vec<String> = rows.map(|row| row.words).collect();
    if found.is_empty() {
        let text = "no kind of incident is more frequent than in the reference";
        return Outcome::Passed(text.to_owned());
    }
    Outcome::Failed {
        summary: format!("{} more than in the reference", kinds_of_incidents(&found)),
        found,
    }
}

fn kinds_of_incidents(found: &[String]) -> String {
    match found.len() {
        1 => "one kind of incident is".to_owned(),
        num => format!("{num} kinds of incidents are"),
    }
}

/// Returns the outcome without a run to compare with: any incident fails.
fn of_all_incidents(run: &ComparedRun) -> Outcome {
    let causes = run.causes();
    let all = causes.incidents().iter();
    let unusual: Vec<_> = all.filter(|it| !it.kind.is_by_design()).collect();
    if unusual.is_empty() {
        return Outcome::Passed("no incidents but those by design".to_owned());
    }
    let cost: DurationNs = unusual.iter().map(|it| it.delay).sum();
    let num = thousands(unusual.len());
    let sentences = unusual.into_iter().map(|it| causes.incident_sentence(it));
    Outcome::Failed {
        summary: format!("{num} incidents, which delay all ranks together by {cost}"),
        found: sentences.collect(),
    }
}

fn slower(comparison: Option<&RunComparison>, most: Slowdown) -> Outcome {
    let Some(comparison) = comparison else {
        let text = "a model has no durations to compare with: give a run as --reference";
        return Outcome::Unchecked(text.to_owned());
    };
    if comparison.comparison().is_short {
        return Outcome::Unchecked(comparison.limits().join("; "));
    }
    let is_slower = |row: &ChangeRow| {
        let ratio = row.ratio.unwrap_or(f64::INFINITY);
        row.is_of_time() && row.cost_us > 0 && ratio > 1.0 + most.0
    };
    let rows = comparison.rows().into_iter().filter(is_slower);
    let found: Vec<String> = rows.map(|row| row.words).collect();
    if found.is_empty() {
        return Outcome::Passed(format!("nothing takes more than {most} longer"));
    }
    Outcome::Failed {
        summary: match found.len() {
            1 => found[0].clone(),
            num => format!("{} and {} more", found[0], num - 1),
        },
        found,
    }
}

/// Returns the outcome of judging the executions of a function as `analyze` does with a reference or a model.
fn abnormal(args: &CheckArgs, run: &ComparedRun, reference: &Reference) -> Result<Outcome> {
    let trace = run.causes().trace();
    let root = match (&args.function, reference) {
        (Some(function), _) => function.clone(),
        (None, Reference::Model(model)) => {
            let first = model.functions().first();
            first.context("the model names no function")?.clone()
        }
        (None, Reference::Run(_)) => {
            let best = suggest_roots(trace).into_iter().next();
            best.context("no function is called often enough to be judged; name one by --function")?
                .name
        }
    };
    let (forest, root) = grow_forest(trace, &root)?;
    let learned;
    let model = match reference {
        Reference::Model(model) => model.as_ref(),
        Reference::Run(reference) => {
            let (forest, root) = grow_forest(reference.causes().trace(), &root)
                .context("cannot learn from the reference")?;
            learned = learn(forest, root, args.seed)?;
            &learned
        }
    };
    judge(model, &forest, run)
}

/// Learns what is usual from a forest, with the settings of `analyze --reference`.
fn learn(forest: Forest, root: String, seed: u64) -> Result<SavedModel> {
    let settings = LearnSettings::with_seed(seed);
    let no_labels = vec![None; forest.len()];
    let (_, mut learned) = with_progress("Learning the trees", |progress| {
        analyze(forest, root, &settings, progress)
    })?;
    let usual = settings.of_model();
    let usual = ModelSettings {
        nu: usual.nu,
        gamma: usual.gamma,
        rate: usual.rate,
    };
    with_progress("Training", |progress| {
        learned.tune(usual, progress)?;
        learned.train(&no_labels, progress)
    })?;
    Ok(learned.model()?)
}

fn judge(model: &SavedModel, forest: &Forest, run: &ComparedRun) -> Result<Outcome> {
    let judgement = with_progress("Judging", |progress| model.judge(forest, false, progress))?;
    if let Some(misfit) = judgement.misfit {
        bail!("the reference does not fit: {misfit}; use one of a similar run");
    }
    let mut judged = judgement.tree_scores;
    if judged.p_values.is_none() {
        bail!("{} executions are too few to judge any", forest.len());
    }
    TreeDelays::new(run.causes(), forest).apply(&mut judged);
    let detection = Detection::new(judged, None);
    let name = &model.default_name();
    let num = thousands(forest.len());
    if detection.num_abnormal == 0 {
        return Ok(Outcome::Passed(format!(
            "none of {num} executions of `{name}` is abnormal"
        )));
    }
    let explainer = with_progress("Comparing the trees", |progress| {
        Explainer::of_model(model, forest, progress)
    })?;
    let no_labels = vec![None; forest.len()];
    let reasons = |tree| {
        if detection.is_abnormal(tree) {
            explainer.reasons(tree)
        } else {
            Vec::new()
        }
    };
    let rows = tree_rows(forest, &detection, &no_labels, Some(run.causes()), reasons);
    let found = rows.filter(|row| row.abnormal).map(|row| {
        let weight = forest.unit().amount(row.weight());
        let rare = |p_value| rareness_text(p_value, forest.len());
        let rare = row.p_value.map_or_else(String::new, rare);
        let reasons = row.reasons.words(NUM_REASONS);
        format!("`{name}` {}: {weight}, {rare}: {reasons}", row.tree)
    });
    Ok(Outcome::Failed {
        found: found.collect(),
        summary: format!(
            "{} of {num} executions of `{name}` are abnormal",
            thousands(detection.num_abnormal)
        ),
    })
}
