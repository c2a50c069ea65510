//! Files that tell what executions are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use callgrove_ml::evaluate::{Class, Truth};
use callgrove_model::{Forest, ProgramId, RankId, TreeIdx};
use callgrove_session::{LabelCsvError, TreeKey};

use crate::output::complain;

/// Labels by tree, as the file has them.
pub(super) struct TruthTable {
    labels: BTreeMap<TreeKey, String>,
}

impl TruthTable {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot use the truth in {}", path.display()))
    }

    /// CSV with the columns rank, index (or exec) and label, and program, if given, in any order; other
    /// columns are ignored. A tree that stands twice keeps its last label; an empty label is none.
    fn parse(text: &[u8]) -> Result<Self, LabelCsvError> {
        let malformed = |error: csv::Error| LabelCsvError::Malformed {
            cause: error.to_string(),
        };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text);
        let header = reader.headers().map_err(malformed)?.clone();
        let column = |name: &str| {
            let is_it = |field: &str| field.eq_ignore_ascii_case(name);
            header.iter().position(is_it)
        };
        let no_column = |column| LabelCsvError::NoColumn { column };
        let program = column("program");
        let rank = column("rank").ok_or(no_column("rank"))?;
        let index = column("index").or_else(|| column("exec"));
        let index = index.ok_or(no_column("index"))?;
        let label = column("label").ok_or(no_column("label"))?;
        let mut labels = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(malformed)?;
            let number = |at: usize, column| parse_number(&record, at, column);
            let key = TreeKey {
                program: ProgramId(program.map_or(Ok(0), |at| number(at, "program"))?),
                rank: RankId(number(rank, "rank")?),
                index: number(index, "index")?,
            };
            match record.get(label) {
                None | Some("") => {}
                Some(label) => {
                    labels.insert(key, label.to_lowercase());
                }
            }
        }
        Ok(Self { labels })
    }

    /// The truth about a forest. Labels in `negative` mean that a tree is normal; those in `positive`
    /// (all others, if it is `None`) that it is an anomaly of that kind. What fits no tree, and trees
    /// that are in neither class, are counted on standard error.
    pub(super) fn truth(
        &self,
        forest: &Forest,
        positive: Option<&[String]>,
        negative: &[String],
    ) -> Result<Truth> {
        let is_in = |list: &[String], label: &str| {
            list.iter().any(|other| other.eq_ignore_ascii_case(label))
        };
        if let Some(twice) = positive.and_then(|list| list.iter().find(|&it| is_in(negative, it))) {
            bail!("the label {twice} cannot be both positive and negative");
        }
        let is_kind = |label: &&String| {
            !is_in(negative, label) && positive.is_none_or(|list| is_in(list, label))
        };
        let labels: Vec<Option<&String>> = (0..forest.len())
            .map(|tree| {
                let key = TreeKey::of(forest, TreeIdx::from_index(tree));
                self.labels.get(&key)
            })
            .collect();
        let kinds: BTreeSet<(Option<i64>, &String)> = labels
            .iter()
            .flatten()
            .copied()
            .filter(is_kind)
            .map(|label| (label.parse().ok(), label))
            .collect();
        let kinds: Vec<String> = kinds.into_iter().map(|(_, label)| label.clone()).collect();
        let classes: Vec<Class> = labels
            .iter()
            .map(|label| match label {
                Some(label) if is_in(negative, label) => Class::Negative,
                Some(label) => kinds
                    .iter()
                    .position(|kind| kind == *label)
                    .map_or(Class::Unknown, Class::Positive),
                None => Class::Unknown,
            })
            .collect();
        let num_labelled = labels.iter().flatten().count();
        let known = classes.iter().filter(|class| **class != Class::Unknown);
        tell(
            "labels of trees that this forest does not have",
            self.labels.len() - num_labelled,
        );
        tell(
            "trees whose label is neither positive nor negative, which are not counted",
            num_labelled - known.count(),
        );
        tell(
            "trees without a label, which are not counted",
            forest.len() - num_labelled,
        );
        Ok(Truth::new(classes, kinds)?)
    }
}

fn tell(what: &str, count: usize) {
    if count > 0 {
        complain(&format!("{what}: {count}"));
    }
}

fn parse_number(
    record: &csv::StringRecord,
    at: usize,
    column: &'static str,
) -> Result<u32, LabelCsvError> {
    let value = record.get(at).unwrap_or_default();
    value.parse().ok().ok_or_else(|| LabelCsvError::BadField {
        line: record.position().map_or(0, csv::Position::line),
        column,
        value: value.to_owned(),
        expected: "a whole number",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(u32, u32, String)>, String> {
        let table = TruthTable::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let rows = table.labels.into_iter();
        Ok(rows
            .map(|(key, label)| (key.rank.0, key.index, label))
            .collect())
    }

    #[test]
    fn both_forms_of_the_file_are_understood() {
        let expected = vec![(0, 1, "4".to_owned()), (2, 0, "slow".to_owned())];
        let minimal = "rank,index,label\n2,0,Slow\n0,1,4\n0,2,\n";
        assert_eq!(parse(minimal), Ok(expected.clone()));
        let full = "rank,exec,step,bits,label\n2,0,9,0,slow\n0,1,9,16,4\n";
        assert_eq!(parse(full), Ok(expected));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("rank,label\n").starts_with("no column `index`"));
        assert!(error("index,label\n").starts_with("no column `rank`"));
        assert_eq!(
            error("rank,index,label\n0,1,4\n0,x,4\n"),
            "line 3: index is `x`, expected a whole number"
        );
        assert!(error("rank,index,label\n0,1\n").starts_with("not a CSV file"));
    }
}
