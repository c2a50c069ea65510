//! `callgrove analyze`: from a trace to a ranked table.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use callgrove_model::{Forest, TreeIdx, thousands};
use callgrove_pipeline::read_tree_model;
use callgrove_query::RunCauses;
use callgrove_session::{
    Cause, Detection, Explainer, Label, LabelSet, LearnSettings, Learned, ModelJudgement,
    ModelSettings, SavedModel, TreeDelays, TreeScores, analyze, design_text, tree_rows,
};
use callgrove_tables::TreeTable;

use super::causes::find_delays;
use super::forest::forest_of;
use super::trends;
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};
use crate::table_output::{TableDestination, TableOut};
use callgrove_args::{AnalyzeArgs, Mode};
use callgrove_headless::{Readers, replace_file};

/// Maximum number of classes of executions by design below the table.
const CLASSES_BELOW_TABLE: usize = 5;

pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.table)?;
    // Small files are read first, so that mistakes in them show before the long work.
    let labels = args
        .labels
        .as_deref()
        .map(read_labels)
        .transpose()?
        .unwrap_or_default();
    let model = args
        .saved
        .model
        .as_deref()
        .map(|path| Ok::<_, anyhow::Error>((path, read_tree_model(path)?)))
        .transpose()?;
    let is_judged_by_another =
        model.is_some() || args.reference.is_some() || args.reference_between.is_some();
    if (args.saved.force || args.saved.recalibrate) && !is_judged_by_another {
        bail!("--force and --recalibrate need a --model or a --reference");
    }
    let mut clock = Clock::new(args.timings);
    let between = args.part.between;
    let (forest, root) = forest_of(
        &args.trace.source(),
        args.function.as_deref(),
        between,
        &mut clock,
    )?;
    let labels = check_labels(&labels, &forest);
    let (mut judged, model) = if let Some((path, model)) = model {
        let judged = judge(&model, &forest, args)
            .with_context(|| format!("cannot use the model {}", path.display()))?;
        (judged, Some(model))
    } else if args.reference.is_some() || args.reference_between.is_some() {
        let source = args.reference.clone();
        let source = source.unwrap_or_else(|| args.trace.source());
        let part = args.reference_between;
        let (reference, _) = forest_of(&source, Some(&root), part, &mut clock)
            .context("cannot learn from the reference")?;
        let (learned, _) = learn(args, &reference, &root, &[])?;
        let model = learned.model()?;
        let judged = judge(&model, &forest, args).context("cannot use the reference")?;
        (judged, Some(model))
    } else {
        let (_, judged) = learn(args, &forest, &root, &labels)?;
        (judged, None)
    };
    clock.lap("learn");
    if judged.p_values.is_none() {
        warn(&format!(
            "{} {} are too few to judge any; they are sorted by their distance from the usual",
            forest.len(),
            forest.unit().of_kind("executions", "trees"),
        ));
    }
    let causes = apply_delays(&forest, &mut judged, &mut clock)?;
    let detection = Detection::new(judged, None);
    let is_explained = args.explain || !destination.is_text();
    let explainer = is_explained
        .then(|| explainer(model.as_ref(), &forest, &detection, &labels))
        .transpose()?;
    clock.lap("explain");
    let trends = (causes.is_some() && destination.is_text())
        .then(|| trends::find(forest.trace(), &mut clock))
        .transpose()?;
    destination.write(|out| {
        let explained = (causes.as_ref(), explainer.as_ref());
        print(args, &forest, &detection, &labels, explained, out)?;
        if destination.is_text() {
            print_explained(out, &detection)?;
            print_dismissed(out, &forest, &detection)?;
            print_by_design(out, &forest, &detection)?;
        }
        match &trends {
            Some(trends) => Ok(trends::print_below(out, trends)?),
            None => Ok(()),
        }
    })?;
    clock.lap("print");
    Ok(Exit::after(&forest.trace().warnings))
}

/// Finds the causes of delays, and applies them to what a model says of the forest. The trees of a file have no messages, and
/// belong to no run.
fn apply_delays(
    forest: &Forest,
    judged: &mut TreeScores,
    clock: &mut Clock,
) -> Result<Option<RunCauses>> {
    if forest.trace().is_forest {
        return Ok(None);
    }
    let causes = find_delays(forest.trace(), clock)?;
    TreeDelays::new(&causes, forest).apply(judged);
    Ok(Some(causes))
}

/// Learns from a forest and its labels, and saves the model if requested.
fn learn(
    args: &AnalyzeArgs,
    forest: &Forest,
    root: &str,
    labels: &[Option<Label>],
) -> Result<(Learned, TreeScores)> {
    let settings = settings(args);
    let (_, mut learned) = with_progress("Learning the trees", |progress| {
        analyze(forest.clone(), root.to_owned(), &settings, progress)
    })?;
    let usual = settings.of_model();
    let wanted = ModelSettings {
        nu: args.nu.unwrap_or(usual.nu),
        gamma: args.gamma.unwrap_or(usual.gamma),
        rate: args.false_alarms.unwrap_or(usual.rate),
    };
    let no_labels = vec![None; forest.len()];
    let labels = if labels.is_empty() {
        &no_labels
    } else {
        labels
    };
    let judged = with_progress("Training", |progress| {
        learned.tune(wanted, progress)?;
        learned.train(labels, progress)
    })?;
    if let Some(path) = &args.save_model {
        save_model(&learned, path)?;
    }
    Ok((learned, judged))
}

/// Judges by a model. A model that does not fit is refused, or, with `--force`, used after a warning.
fn judge(model: &SavedModel, forest: &Forest, args: &AnalyzeArgs) -> Result<TreeScores> {
    let ModelJudgement {
        tree_scores: judged,
        functions,
        misfit,
    } = with_progress("Judging", |progress| {
        model.judge(forest, args.saved.recalibrate, progress)
    })?;
    match misfit {
        Some(misfit) if args.saved.force => warn(&format!("the model does not fit: {misfit}")),
        Some(misfit) => bail!(
            "the model does not fit: {misfit}; use one of a similar run, or pass --force to use it anyway"
        ),
        None => {}
    }
    if functions.by_signature > 0 {
        warn(&format!(
            "{} of {} functions have other source lines than in the training and were matched by file and \
             signature, {} are unknown to it",
            functions.by_signature,
            functions.exact + functions.by_signature + functions.unknown,
            functions.unknown,
        ));
    }
    Ok(judged)
}

fn settings(args: &AnalyzeArgs) -> LearnSettings {
    let settings = match args.mode {
        Mode::Excess => LearnSettings::with_seed(args.seed),
        Mode::Paper => LearnSettings::paper(args.seed),
    };
    if args.ordered {
        settings.with_sibling_order()
    } else {
        settings
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read_labels(path: &Path) -> Result<LabelSet> {
    LabelSet::from_csv(&read(path)?)
        .with_context(|| format!("cannot use the labels in {}", path.display()))
}

/// Returns the labels by tree, and reports the number of labels for trees that do not exist.
fn check_labels(labels: &LabelSet, forest: &Forest) -> Vec<Option<Label>> {
    let by_tree = labels.by_tree(forest);
    let num_unknown = labels.len() - by_tree.iter().flatten().count();
    if num_unknown > 0 {
        warn(&format!(
            "{num_unknown} of {} labels name trees that this forest does not have",
            labels.len()
        ));
    }
    by_tree
}

fn save_model(learned: &Learned, path: &Path) -> Result<()> {
    replace_file(path, learned.model_text()?.as_bytes(), Readers::User)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Explains the trees. Trees that are judged by a model are compared with its training.
fn explainer(
    model: Option<&SavedModel>,
    forest: &Forest,
    detection: &Detection,
    labels: &[Option<Label>],
) -> Result<Explainer> {
    Ok(with_progress(
        "Comparing the trees",
        |progress| match model {
            Some(model) => Explainer::of_model(model, forest, progress),
            None => Explainer::new(forest, detection, labels, progress),
        },
    )?)
}

fn print(
    args: &AnalyzeArgs,
    forest: &Forest,
    detection: &Detection,
    labels: &[Option<Label>],
    (causes, explainer): (Option<&RunCauses>, Option<&Explainer>),
    out: &mut TableOut<'_>,
) -> Result<()> {
    let reasons_of = |tree: TreeIdx| match explainer {
        Some(explainer) if args.explain || detection.is_abnormal(tree) => explainer.reasons(tree),
        _ => Vec::new(),
    };
    let table = TreeTable::new(forest, args.explain);
    let rows = tree_rows(forest, detection, labels, causes, reasons_of)
        .take(args.limit.unwrap_or(usize::MAX));
    out.rows(&table, rows)
}

/// Prints the number of abnormal executions that are not reported as alarms.
fn print_explained(out: &mut dyn Write, detection: &Detection) -> std::io::Result<()> {
    if detection.num_explained == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\n{} slow while the tracer wrote its own data (cause \"{}\"), which explains most of the delay: listed \
         after the {} unexplained ones",
        match detection.num_explained {
            1 => "1 execution was".to_owned(),
            num => format!("{} executions were", thousands(num)),
        },
        Cause::TraceWrite.name(),
        thousands(detection.num_abnormal),
    )
}

/// Prints which executions are not called abnormal because their times are usual in the run.
fn print_dismissed(
    out: &mut dyn Write,
    forest: &Forest,
    detection: &Detection,
) -> std::io::Result<()> {
    for sentence in detection.dismissed.sentences(forest.len()) {
        writeln!(out, "\n{sentence}")?;
    }
    Ok(())
}

/// Prints the number of executions that are rare or long by design, by class.
fn print_by_design(
    out: &mut dyn Write,
    forest: &Forest,
    detection: &Detection,
) -> std::io::Result<()> {
    let mut num_of: BTreeMap<String, usize> = BTreeMap::new();
    for tree in (0..forest.len()).map(TreeIdx::from_index) {
        if let Some(class) = detection.by_design(tree) {
            *num_of.entry(design_text(class)).or_default() += 1;
        }
    }
    if num_of.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nrare or long by design, not reported as alarms:")?;
    let mut classes: Vec<(String, usize)> = num_of.into_iter().collect();
    classes.sort_by_key(|(_, num)| Reverse(*num));
    for (words, num) in classes.iter().take(CLASSES_BELOW_TABLE) {
        let executions = if *num == 1 { "execution" } else { "executions" };
        writeln!(out, "  {} {executions}: {words}", thousands(*num))?;
    }
    match classes.len().saturating_sub(CLASSES_BELOW_TABLE) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} other classes"),
    }
}
