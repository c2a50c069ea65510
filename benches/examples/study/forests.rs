//! Forests that are not traces: generated ones with planted anomalies, and forest files with the class of each tree.

use std::error::Error;
use std::fs;
use std::path::Path;

use callgrove_benches::generator::varied::{Family, VariedForest};
use callgrove_evaluate::evaluate::{Class, Truth};
use callgrove_forest::{ForestFile, ForestFileLimits, read_forest};
use callgrove_model::Label;
use callgrove_trees::Progress;
use serde::Deserialize;

use crate::alternatives::{Subject, alternatives_table};
use callgrove_benches::markdown_table::MarkdownTable;

const NUM_TREES: usize = 3_000;
/// Seeds whose results may be used to choose settings.
const SEEDS_TO_CHOOSE: [u64; 3] = [1, 2, 3];
/// Seeds whose results are reported; never used to choose settings.
const SEEDS_TO_REPORT: [u64; 3] = [11, 12, 13];

/// Suffix of a forest file.
const FOREST_FILE: &str = ".jsonl";

/// A forest with the truth of its trees.
pub(crate) struct KnownForest {
    name: String,
    file: ForestFile,
    truth: Truth,
}

/// The fields of a line other than the tree.
#[derive(Deserialize)]
struct KindLine {
    #[serde(default, alias = "node")]
    rank: u32,
    #[serde(default)]
    kind: String,
}

impl KnownForest {
    /// Returns whether an argument names a forest file.
    pub(crate) fn is_file(arg: &str) -> bool {
        arg.ends_with(FOREST_FILE)
    }

    /// Reads a forest file whose trees have a `label` and a `kind`.
    pub(crate) fn load(arg: &str) -> Result<Self, Box<dyn Error>> {
        let text = fs::read(arg)?;
        let limits = ForestFileLimits::default();
        let file = read_forest(&text[..], 0, limits, Progress::none())?;
        let text = std::str::from_utf8(&text)?;
        let trees = text.lines().filter(|line| !line.trim().is_empty()).skip(1);
        let mut lines: Vec<KindLine> = trees.map(serde_json::from_str).collect::<Result<_, _>>()?;
        // In the order of the forest; trees of one rank keep their order.
        lines.sort_by_key(|line| line.rank);
        let mut kinds: Vec<String> = Vec::new();
        let classes = file
            .labels
            .iter()
            .zip(lines)
            .map(|(label, line)| match label {
                Some(Label::Abnormal) => {
                    let known = kinds.iter().position(|kind| *kind == line.kind);
                    Class::Positive(known.unwrap_or_else(|| {
                        kinds.push(line.kind);
                        kinds.len() - 1
                    }))
                }
                Some(Label::Normal) => Class::Negative,
                None => Class::Unknown,
            });
        let classes = classes.collect();
        let name = Path::new(arg).file_stem().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            truth: Truth::new(classes, kinds)?,
            file,
        })
    }

    fn generated(family: Family, seed: u64) -> Result<Self, Box<dyn Error>> {
        let (file, truth) = VariedForest::make(family, NUM_TREES, seed).to_forest()?;
        Ok(Self {
            name: family.name().to_owned(),
            file,
            truth,
        })
    }
}

/// Tables G: the varied families, with the seeds to choose by and with those to report, and the forest files.
pub(crate) fn tables(files: &[KnownForest]) -> Result<Vec<MarkdownTable>, Box<dyn Error>> {
    let mut tables = vec![
        varied("G. Varied forests, to choose by", SEEDS_TO_CHOOSE)?,
        varied("G. Varied forests, to report", SEEDS_TO_REPORT)?,
    ];
    if !files.is_empty() {
        let subjects: Vec<Subject<'_>> = files.iter().map(|file| subject(&[file])).collect();
        tables.push(alternatives_table(
            "G. Forest files",
            "One forest each.",
            &subjects,
        )?);
    }
    Ok(tables)
}

fn varied(title: &str, seeds: [u64; 3]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut forests = Vec::new();
    for family in Family::ALL {
        let made = seeds.map(|seed| KnownForest::generated(family, seed));
        forests.push(made.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    let subjects: Vec<Subject<'_>> = forests
        .iter()
        .map(|forests| subject(&forests.iter().collect::<Vec<_>>()))
        .collect();
    let about = format!("{NUM_TREES} trees each, means over the seeds {seeds:?}.");
    alternatives_table(title, &about, &subjects)
}

fn subject<'a>(forests: &[&'a KnownForest]) -> Subject<'a> {
    let first = forests.first().map(|known| known.name.clone());
    let forests = forests
        .iter()
        .map(|known| (&known.file.forest, &known.truth));
    Subject {
        name: first.unwrap_or_default(),
        forests: forests.collect(),
    }
}
