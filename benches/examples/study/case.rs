//! A trace with the truth of its trees.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use callgrove_evaluate::baselines::ValidBaselineParams;
use callgrove_evaluate::evaluate::{Class, Quality, Truth, Workbench};
use callgrove_judge::detector::{Detector, DetectorParams, Embedding, is_alarm, listed_scores};
use callgrove_model::{Forest, FunctionPattern, TimeNs, TreeIdx};
use callgrove_trees::Progress;
use serde::Deserialize;

use callgrove_benches::markdown_table::{MarkdownTable, share, texts};

/// The seed of every embedding of the study.
pub(crate) const SEED: u64 = 1;
/// Names of the labels 1 to 4.
const KINDS: [&str; 4] = ["stopped", "victim", "hog or fsync", "structure"];
/// The label of trees that are rare by design.
const RARE_BY_DESIGN: usize = 5;
/// The index of unexpected structure among them.
pub(crate) const STRUCTURE: usize = 3;
/// Multiple of the median of its class from which a tree is slow, as for labels 2 and 3.
const SLOW: f64 = 3.0;

/// A row of the truth file.
#[derive(Deserialize)]
struct TruthRow {
    rank: u32,
    exec: u32,
    label: usize,
    ratio: Option<f64>,
    #[serde(default, rename = "struct")]
    structure: String,
}

/// A trace with the truth of its trees.
pub(crate) struct Case {
    /// Its folder.
    pub(crate) name: String,
    function: String,
    forest: Forest,
    /// Labels 1 to 4 are anomalies.
    pub(crate) truth: Truth,
    /// True for each tree that is rare by design, shape `[n_trees]`.
    is_rare: Vec<bool>,
    /// Duration / median of its class, NaN if unknown; shape `[n_trees]`.
    ratio: Vec<f64>,
    /// Name of its structure in the truth, empty if unknown; shape `[n_trees]`.
    structure: Vec<String>,
}

impl Case {
    /// Reads `TRACE:FUNCTION:TRUTH.csv`; the function name may contain colons.
    pub(crate) fn load(arg: &str) -> Result<Self, Box<dyn Error>> {
        let parts = arg.split_once(':').and_then(|(path, rest)| {
            let (function, truth) = rest.rsplit_once(':')?;
            Some((Path::new(path), function, Path::new(truth)))
        });
        let (path, function, truth) = parts.ok_or("not of the form TRACE:FUNCTION:TRUTH.csv")?;
        let trace = callgrove_formats::load(path, Progress::none())?;
        let functions = Forest::functions_named(&trace, &FunctionPattern::new(function));
        let forest = Forest::grow(Arc::new(trace), &functions);
        let rows = read_truth(truth)?;
        let rows: Vec<Option<&TruthRow>> = (0..forest.len())
            .map(|tree| {
                let code = forest.code(TreeIdx::from_index(tree));
                rows.get(&(code.rank.0, code.index))
            })
            .collect();
        let classes = rows.iter().map(|row| match row.map(|row| row.label) {
            Some(label @ 1..=4) => Class::Positive(label - 1),
            Some(0 | RARE_BY_DESIGN) => Class::Negative,
            _ => Class::Unknown,
        });
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            function: function.to_owned(),
            truth: Truth::new(classes.collect(), KINDS.map(str::to_owned).to_vec())?,
            is_rare: rows
                .iter()
                .map(|row| row.is_some_and(|row| row.label == RARE_BY_DESIGN))
                .collect(),
            ratio: rows
                .iter()
                .map(|row| row.and_then(|row| row.ratio).unwrap_or(f64::NAN))
                .collect(),
            structure: rows
                .iter()
                .map(|row| row.map_or_else(String::new, |row| row.structure.clone()))
                .collect(),
            forest,
        })
    }

    /// Returns its trees.
    pub(crate) fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Returns the name of a tree's structure in the truth, empty if unknown.
    pub(crate) fn structure(&self, tree: usize) -> &str {
        &self.structure[tree]
    }

    /// Returns true if nothing was injected, so that every reported tree is a false alarm.
    pub(crate) fn is_clean(&self) -> bool {
        self.truth.num_positive() == 0
    }

    pub(crate) fn embed(&self, params: DetectorParams) -> Result<Embedding, Box<dyn Error>> {
        let params = params.check()?;
        Ok(Embedding::fit(
            &self.forest,
            &params,
            SEED,
            Progress::none(),
        )?)
    }

    /// Returns scores without labels, shape `[n_trees]`.
    pub(crate) fn scores(&self, params: DetectorParams) -> Result<Vec<f64>, Box<dyn Error>> {
        let embedding = self.embed(params)?;
        let labels = vec![None; self.forest.len()];
        let detector = Detector::train(&embedding, &labels, None, Progress::none())?;
        let causes = vec![None; labels.len()];
        Ok(listed_scores(
            detector.scores(),
            detector.abnormal(),
            &causes,
        ))
    }

    /// Returns every method with its defaults.
    pub(crate) fn workbench(
        &self,
        params: ValidBaselineParams,
    ) -> Result<Workbench<'_>, Box<dyn Error>> {
        let ours = DetectorParams::default();
        Ok(Workbench::new(
            &self.forest,
            &self.truth,
            ours,
            params,
            SEED,
        )?)
    }

    /// Returns the trees that start in a part of the run, given as fractions of it, with their truth.
    pub(crate) fn part(&self, from: f64, to: f64) -> Result<(Forest, Truth), Box<dyn Error>> {
        let part = part_of(&self.forest, from, to);
        let classes: BTreeMap<_, Class> = (0..self.forest.len())
            .map(|tree| (self.forest.trees()[tree].root, self.truth.classes()[tree]))
            .map(|(root, class)| ((root.lane, root.exec), class))
            .collect();
        let known = part.trees().iter();
        let known = known.map(|tree| classes[&(tree.root.lane, tree.root.exec)]);
        let truth = Truth::new(known.collect(), self.truth.kinds().to_vec())?;
        Ok((part, truth))
    }

    /// Returns the truth, with the class `Unknown` for the trees that `is_left_out` selects.
    pub(crate) fn truth_without(
        &self,
        is_left_out: impl Fn(usize, Class) -> bool,
    ) -> Result<Truth, Box<dyn Error>> {
        let classes = self.truth.classes().iter().enumerate();
        let classes = classes.map(|(tree, &class)| {
            if is_left_out(tree, class) {
                Class::Unknown
            } else {
                class
            }
        });
        Ok(Truth::new(classes.collect(), self.truth.kinds().to_vec())?)
    }

    /// Returns whether a tree is slow although it is neither an anomaly nor rare by design.
    pub(crate) fn is_slow_negative(&self, tree: usize) -> bool {
        let is_other = self.truth.classes()[tree] == Class::Negative && !self.is_rare[tree];
        is_other && self.ratio[tree] >= SLOW
    }

    /// Returns area under the ROC curve / average precision; for a clean trace the false alarms.
    pub(crate) fn rank(&self, scores: &[f64]) -> String {
        if self.is_clean() {
            return self.alarms(scores);
        }
        ranking(&self.truth, scores)
    }

    /// Returns average precision; for a clean trace the false alarms.
    pub(crate) fn precision(&self, scores: &[f64]) -> String {
        if self.is_clean() {
            return self.alarms(scores);
        }
        share(average_precision(&self.truth, scores))
    }

    /// Returns normal trees that are judged abnormal: rare by design + others (twice as slow, slow).
    fn alarms(&self, scores: &[f64]) -> String {
        let count = |is_counted: &dyn Fn(usize) -> bool| {
            let alarms = (0..scores.len()).filter(|&tree| is_alarm(scores[tree]));
            alarms.filter(|&tree| is_counted(tree)).count()
        };
        let slower_than = |ratio| count(&|tree| !self.is_rare[tree] && self.ratio[tree] >= ratio);
        format!(
            "{} + {} ({}, {})",
            count(&|tree| self.is_rare[tree]),
            count(&|tree| !self.is_rare[tree]),
            slower_than(2.0),
            slower_than(SLOW),
        )
    }
}

/// Returns area under the ROC curve / average precision.
pub(crate) fn ranking(truth: &Truth, scores: &[f64]) -> String {
    let quality = Quality::of_all(truth, scores);
    format!(
        "{} / {}",
        share(quality.map(|quality| quality.ranking.roc_auc)),
        share(quality.map(|quality| quality.ranking.average_precision)),
    )
}

pub(crate) fn average_precision(truth: &Truth, scores: &[f64]) -> Option<f64> {
    Some(Quality::of_all(truth, scores)?.ranking.average_precision)
}

/// Returns rows by rank and execution.
fn read_truth(path: &Path) -> Result<BTreeMap<(u32, u32), TruthRow>, csv::Error> {
    let rows = csv::Reader::from_path(path)?.into_deserialize();
    rows.map(|row| row.map(|row: TruthRow| ((row.rank, row.exec), row)))
        .collect()
}

/// Returns a table of the contents of the traces.
pub(crate) fn traces(cases: &[Case]) -> MarkdownTable {
    let mut header = texts(&[&"trace", &"root function", &"trees"]);
    header.extend(KINDS.map(str::to_owned));
    header.extend(texts(&[&"rare by design", &"others", &"of these slow"]));
    let legend =
        "Numbers of trees. Slow: 3 times the median of its class and longer, and yet no anomaly.";
    let mut table = MarkdownTable::new("Traces", legend, header);
    for case in cases {
        let count = |is_counted: &dyn Fn(usize) -> bool| {
            (0..case.truth.len())
                .filter(|&tree| is_counted(tree))
                .count()
        };
        let num_rare = count(&|tree| case.is_rare[tree]);
        let mut row = texts(&[&case.name, &case.function, &case.truth.len()]);
        row.extend((0..KINDS.len()).map(|kind| case.truth.num_of_kind(kind).to_string()));
        row.extend(texts(&[
            &num_rare,
            &(case.truth.num_negative() - num_rare),
            &count(&|tree| case.is_slow_negative(tree)),
        ]));
        table.push(row);
    }
    table
}

/// Returns the trees of a forest that start in a part of its run, given as fractions of it.
fn part_of(forest: &Forest, from: f64, to: f64) -> Forest {
    let trees = (0..forest.len()).map(TreeIdx::from_index);
    let entries = trees.map(|tree| forest.tree(tree).entry()[0].0);
    let (first, last) = entries.fold((i64::MAX, i64::MIN), |(first, last), entry| {
        (first.min(entry), last.max(entry.saturating_add(1)))
    });
    let at = |share: f64| TimeNs(first + (share * (last - first) as f64) as i64);
    forest.between(at(from)..at(to))
}
