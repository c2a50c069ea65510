//! `callgrove analyze`: the whole way from a trace to a ranked table.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use callgrove_model::{Forest, Trace};
use callgrove_session::{
    Analysis, Detection, Label, LabelSet, LearnSettings, Learned, ModelSettings, RootError,
    TreeRow, analyze, grow_forest, score_with_model, suggest_roots, tree_rows,
};

use crate::args::{AnalyzeArgs, Mode, TableFormat};
use crate::host::{is_forest_file, read_forest_file, read_trace, replace_file};
use crate::output::{Clock, Table, complain, with_progress};

pub(crate) fn run(args: &AnalyzeArgs) -> Result<()> {
    // Small files are read first: a mistake in them shows before the long work.
    let labels = args
        .labels
        .as_deref()
        .map(read_labels)
        .transpose()?
        .unwrap_or_default();
    let model = args.model.as_deref().map(read).transpose()?;
    let mut clock = Clock::new(args.timings);
    let (forest, root_name) = if is_forest_file(&args.trace) {
        read_trees(args, &mut clock)?
    } else {
        grow(args, &mut clock)?
    };
    let settings = settings(args);
    let (analysis, mut learned) = with_progress("Learning the trees", |progress| {
        analyze(forest, root_name, &settings, progress)
    })?;
    let usual = settings.of_model();
    learned.tune(ModelSettings {
        nu: args.nu.unwrap_or(usual.nu),
        gamma: args.gamma.unwrap_or(usual.gamma),
    })?;
    clock.lap("learn");
    let labels = check_labels(&labels, &analysis);
    let scores = match &model {
        Some(bytes) => score_with_model(&analysis.forest, bytes).with_context(|| {
            format!(
                "cannot use the model {}",
                args.model.as_deref().unwrap_or(Path::new("")).display()
            )
        })?,
        None => with_progress("Training", |progress| learned.train(&labels, progress))?,
    };
    clock.lap("train");
    if let Some(path) = &args.save_model {
        save_model(&learned, path)?;
    }
    let detection = Detection::new(scores, None);
    print(args, &analysis, &detection, &labels)?;
    clock.lap("print");
    Ok(())
}

/// The forest of a file that holds one.
fn read_trees(args: &AnalyzeArgs, clock: &mut Clock) -> Result<(Forest, String)> {
    if args.function.is_some() {
        bail!("--function picks trees out of a trace; a forest file holds its trees already");
    }
    let read = with_progress("Reading the trees", |progress| {
        read_forest_file(&args.trace, progress)
    })?;
    clock.lap("read");
    Ok(read)
}

/// The forest of a function of a trace.
fn grow(args: &AnalyzeArgs, clock: &mut Clock) -> Result<(Forest, String)> {
    let trace = with_progress("Reading the trace", |progress| {
        read_trace(&args.trace, progress)
    })?;
    let trace = Arc::new(trace);
    clock.lap("read");
    let root = match &args.function {
        Some(function) => function.clone(),
        None => best_root(&trace)?,
    };
    let grown = grow_forest(&trace, &root)?;
    clock.lap("grow");
    Ok(grown)
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

/// The most promising root function, which is told on standard error.
pub(crate) fn best_root(trace: &Trace) -> Result<String> {
    if trace.num_executions() == 0 {
        return Err(RootError::EmptyTrace.into());
    }
    let best = suggest_roots(trace)
        .into_iter()
        .next()
        .ok_or(RootError::NothingToSuggest)?;
    complain(&format!("no --function given; taking {}", best.name));
    Ok(best.name)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read_labels(path: &Path) -> Result<LabelSet> {
    LabelSet::from_csv(&read(path)?)
        .with_context(|| format!("cannot use the labels in {}", path.display()))
}

/// Labels by tree; says how many name trees that are not there.
fn check_labels(labels: &LabelSet, analysis: &Analysis) -> Vec<Option<Label>> {
    let by_tree = labels.by_tree(&analysis.forest);
    let num_unknown = labels.len() - by_tree.iter().flatten().count();
    if num_unknown > 0 {
        complain(&format!(
            "{num_unknown} of {} labels name trees that this forest does not have",
            labels.len()
        ));
    }
    by_tree
}

fn save_model(learned: &Learned, path: &Path) -> Result<()> {
    replace_file(path, learned.model_text()?.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

fn print(
    args: &AnalyzeArgs,
    analysis: &Analysis,
    detection: &Detection,
    labels: &[Option<Label>],
) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let rows = tree_rows(analysis, detection, labels).take(args.limit.unwrap_or(usize::MAX));
    match args.format {
        TableFormat::Table => table(rows).print(&mut out, 0)?,
        TableFormat::Csv => {
            let mut writer = csv::Writer::from_writer(&mut out);
            for row in rows {
                writer.serialize(row)?;
            }
            writer.flush()?;
        }
        TableFormat::Json => {
            for row in rows {
                serde_json::to_writer(&mut out, &row)?;
                out.write_all(b"\n")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn table(rows: impl Iterator<Item = TreeRow>) -> Table {
    let mut table = Table::new(&[
        "tree", "event_id", "program", "rank", "thread", "index", "entry_us", "exit_us", "score",
        "label",
    ]);
    for row in rows {
        let label = match row.label {
            None => "",
            Some(Label::Normal) => "normal",
            Some(Label::Abnormal) => "abnormal",
        };
        table.push(vec![
            row.tree,
            row.event_id,
            row.program.to_string(),
            row.rank.to_string(),
            row.thread.to_string(),
            row.index.to_string(),
            row.entry_us.to_string(),
            row.exit_us.to_string(),
            format!("{:.6e}", row.score),
            label.to_owned(),
        ]);
    }
    table
}
