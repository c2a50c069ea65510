//! `callgrove analyze`: the whole way from a trace to a ranked table.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_model::DurationNs;
use callgrove_session::{
    Analysis, Cause, Detection, Label, LabelSet, LearnSettings, Learned, ModelSettings, TreeRow,
    analyze, score_with_model, tree_rows,
};

use super::forest::forest_of;
use crate::args::{AnalyzeArgs, Mode, TableFormat};
use crate::host::replace_file;
use crate::output::{Clock, TextTable, complain, thousands, with_progress};

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
    let (forest, root_name) = forest_of(&args.trace, args.function.as_deref(), &mut clock)?;
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
    let causes = learned.causes(&scores, &labels);
    let detection = Detection::new(scores, causes, None);
    print(args, &analysis, &detection, &labels)?;
    clock.lap("print");
    Ok(())
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
        TableFormat::Table => {
            table(rows, analysis.median_duration).print(&mut out, 0)?;
            print_explained(&mut out, detection)?;
        }
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

/// Says how many executions are no alarms although their scores are negative.
fn print_explained(out: &mut dyn Write, detection: &Detection) -> std::io::Result<()> {
    if detection.num_explained == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\n{} slow while the tracer wrote its own data (cause \"{}\"), which explains most of it: listed \
         behind the {} that nothing explains",
        match detection.num_explained {
            1 => "1 execution was".to_owned(),
            num => format!("{} executions were", thousands(num)),
        },
        Cause::TraceWrite.name(),
        thousands(detection.num_abnormal),
    )
}

/// For a person: how long each took, and how that compares, stand first.
fn table(rows: impl Iterator<Item = TreeRow>, median: DurationNs) -> TextTable {
    let mut table = TextTable::new(&[
        "tree", "duration", "×median", "event_id", "program", "rank", "thread", "index",
        "entry_us", "exit_us", "score", "label", "cause",
    ]);
    for row in rows {
        let duration = DurationNs::from_us(row.exit_us - row.entry_us);
        let ratio = duration.0 as f64 / (median.0 as f64).max(1.0);
        let label = match row.label {
            None => "",
            Some(Label::Normal) => "normal",
            Some(Label::Abnormal) => "abnormal",
        };
        table.push(vec![
            row.tree,
            duration.to_string(),
            format!("{ratio:.1}"),
            row.event_id,
            row.program.to_string(),
            row.rank.to_string(),
            row.thread.to_string(),
            row.index.to_string(),
            row.entry_us.to_string(),
            row.exit_us.to_string(),
            format!("{:.6e}", row.score),
            label.to_owned(),
            row.cause.map_or("", Cause::name).to_owned(),
        ]);
    }
    table
}
