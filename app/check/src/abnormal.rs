//! Executions of a function, judged as `callgrove analyze` does with a reference or a model.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use callgrove_model::{DurationNs, Forest, thousands};
use callgrove_query::ComparedRun;
use callgrove_session::{
    Detection, Explainer, LearnSettings, ModelSettings, SavedModel, TreeDelays, TreeRow, analyze,
    grow_forest, rareness_text, suggest_roots, tree_rows,
};

use super::outcome::Outcome;
use super::stages::Stages;

/// Maximum number of reasons of an abnormal execution in a report.
const NUM_REASONS: usize = 2;
/// Maximum number of executions in the line of a delay that they waited for.
const NUM_WAITING: usize = 3;
/// Minimum number of executions of a run that is learned from, and of one that is judged: the largest of fewer is so far out
/// with a probability above 5 %.
const MIN_EXECUTIONS: usize = 20;

/// Which executions are judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbnormalSettings {
    /// The root function; the most promising one, or the first of a model, if none is named.
    pub function: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// What executions are judged by.
pub(super) enum CheckedBy<'a> {
    Run(&'a ComparedRun),
    Model(&'a SavedModel),
}

/// Returns the outcome for some runs.
///
/// # Errors
/// Why they cannot be judged.
pub(super) fn judge_runs(
    settings: &AbnormalSettings,
    runs: &[&ComparedRun],
    by: &CheckedBy<'_>,
    stages: &impl Stages,
) -> Result<Outcome> {
    let root = match (&settings.function, by) {
        (Some(function), _) => function.clone(),
        (None, CheckedBy::Model(model)) => {
            let first = model.functions().first();
            first.context("the model names no function")?.clone()
        }
        (None, CheckedBy::Run(_)) => {
            let best = runs.first();
            let best = best.and_then(|run| suggest_roots(run.causes().trace()).into_iter().next());
            best.context("no function is called often enough to be judged; name one by --function")?
                .name
        }
    };
    let learned;
    let model = match by {
        CheckedBy::Model(model) => model,
        CheckedBy::Run(reference) => {
            let (forest, root) = grow_forest(reference.causes().trace(), &root)
                .context("cannot learn from the reference")?;
            check_number("the reference", &forest, &root)?;
            learned = learn(forest, root, settings.seed, stages)?;
            &learned
        }
    };
    let (mut num_all, mut num_abnormal, mut found) = (0, 0, Vec::new());
    for (at, run) in runs.iter().enumerate() {
        let (forest, root) = grow_forest(run.causes().trace(), &root)?;
        check_number("the run", &forest, &root)?;
        let of_run = judge(model, &forest, run, stages)?;
        num_all += forest.len();
        num_abnormal += of_run.num_abnormal;
        let name = if runs.len() > 1 {
            format!("run {}: ", at + 1)
        } else {
            String::new()
        };
        found.extend(of_run.found.into_iter().map(|it| format!("{name}{it}")));
    }
    let (name, num_all) = (model.default_name(), thousands(num_all));
    if num_abnormal == 0 {
        return Ok(Outcome::Passed(format!(
            "none of {num_all} executions of `{name}` is abnormal"
        )));
    }
    Ok(Outcome::Failed {
        summary: format!(
            "{} of {num_all} executions of `{name}` are abnormal",
            thousands(num_abnormal)
        ),
        found,
    })
}

/// Refuses so few executions that none of them could be called abnormal.
fn check_number(of: &str, forest: &Forest, root: &str) -> Result<()> {
    if forest.len() < MIN_EXECUTIONS {
        bail!(
            "{of} has {} executions of `{root}`, too few to judge any: {MIN_EXECUTIONS} are needed; name a function that is \
             called more often by --function",
            forest.len()
        );
    }
    Ok(())
}

/// Learns what is usual from a forest, with the settings of `analyze --reference`.
fn learn(forest: Forest, root: String, seed: u64, stages: &impl Stages) -> Result<SavedModel> {
    let settings = LearnSettings::with_seed(seed);
    let no_labels = vec![None; forest.len()];
    let (_, mut learned) = stages.run("Learning the trees", |progress| {
        analyze(forest, root, &settings, progress)
    })?;
    let usual = settings.of_model();
    let usual = ModelSettings {
        nu: usual.nu,
        gamma: usual.gamma,
        rate: usual.rate,
    };
    stages.run("Training", |progress| {
        learned.tune(usual, progress)?;
        learned.train(&no_labels, progress)
    })?;
    Ok(learned.model()?)
}

/// The abnormal executions of a run.
struct AbnormalExecutions {
    num_abnormal: usize,
    /// Each as a sentence; those that waited for one delay are one sentence, after the others.
    found: Vec<String>,
}

fn judge(
    model: &SavedModel,
    forest: &Forest,
    run: &ComparedRun,
    stages: &impl Stages,
) -> Result<AbnormalExecutions> {
    let judgement = stages.run("Judging", |progress| model.judge(forest, false, progress))?;
    if let Some(misfit) = judgement.misfit {
        bail!("the reference does not fit: {misfit}; use one of a similar run");
    }
    let mut judged = judgement.tree_scores;
    if judged.p_values.is_none() {
        bail!("{} executions are too few to judge any", forest.len());
    }
    TreeDelays::new(run.causes(), forest).apply(&mut judged);
    let detection = Detection::new(judged, None);
    let num_abnormal = detection.num_abnormal;
    if num_abnormal == 0 {
        let found = Vec::new();
        return Ok(AbnormalExecutions {
            num_abnormal,
            found,
        });
    }
    let explainer = stages.run("Comparing the trees", |progress| {
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
    let abnormal: Vec<TreeRow> = rows.filter(|row| row.abnormal).collect();
    let is_victim = |row: &&TreeRow| row.role.as_deref() == Some("victim");
    let name = &model.default_name();
    let alone = abnormal.iter().filter(|row| !is_victim(row)).map(|row| {
        let weight = forest.unit().amount(row.weight());
        let rare = |p_value| rareness_text(p_value, forest.len());
        let rare = row.p_value.map_or_else(String::new, rare);
        let reasons = row.reasons.words(NUM_REASONS);
        format!("`{name}` {}: {weight}, {rare}: {reasons}", row.tree)
    });
    let mut found: Vec<String> = alone.collect();
    let victims: Vec<&TreeRow> = abnormal.iter().filter(is_victim).collect();
    found.extend(waiting(name, &victims, run));
    Ok(AbnormalExecutions {
        num_abnormal,
        found,
    })
}

/// Returns a sentence for each delay of a rank that executions waited for, in order of time.
fn waiting(name: &str, victims: &[&TreeRow], run: &ComparedRun) -> Vec<String> {
    let mut by_rank: BTreeMap<Option<u32>, Vec<&TreeRow>> = BTreeMap::new();
    for row in victims {
        by_rank.entry(row.root_rank).or_default().push(row);
    }
    let start = run
        .causes()
        .trace()
        .time_span()
        .map_or(0, |it| it.0.0 / 1_000);
    let mut all: Vec<(i64, String)> = Vec::new();
    for (rank, mut rows) in by_rank {
        rows.sort_by_key(|row| (row.entry_us, row.rank, row.index));
        // Executions that overlap waited for the same delay.
        let mut end = i64::MIN;
        let mut groups: Vec<Vec<&TreeRow>> = Vec::new();
        for row in rows {
            match groups.last_mut() {
                Some(group) if row.entry_us < end => group.push(row),
                _ => groups.push(vec![row]),
            }
            end = end.max(row.exit_us);
        }
        let of_rank = rank.map_or("another rank".to_owned(), |rank| format!("rank {rank}"));
        all.extend(groups.iter().map(|group| {
            let names: Vec<&str> = group
                .iter()
                .take(NUM_WAITING)
                .map(|row| &*row.tree)
                .collect();
            let others = match group.len().checked_sub(NUM_WAITING) {
                Some(more) if more > 0 => format!(" and {more} others"),
                _ => String::new(),
            };
            let entry_us = group.first().map_or(0, |row| row.entry_us);
            let at = DurationNs::from_us(entry_us.saturating_sub(start));
            let names = names.join(", ");
            let sentence =
                format!("`{name}` {names}{others} waited for {of_rank}, {at} after the start");
            (entry_us, sentence)
        }));
    }
    all.sort();
    all.into_iter().map(|it| it.1).collect()
}
