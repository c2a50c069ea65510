//! Files with the true labels of executions.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use callgrove_evaluate::evaluate::{Class, Truth};
use callgrove_model::{Forest, TreeIdx};
use callgrove_query::EventKey;
use callgrove_session::{LabelCsvError, LabelKey, label_rows};

/// The labels by tree, as in the file.
pub struct TruthTable {
    labels: BTreeMap<LabelKey, String>,
}

impl TruthTable {
    /// Parses the rows of [`label_rows`]. The last label of a tree counts; an empty label is ignored.
    ///
    /// # Errors
    /// The text is not such a table; the error names the line.
    pub fn parse(text: &[u8]) -> Result<Self, LabelCsvError> {
        let rows = label_rows(text)?.into_iter();
        let labels = rows
            .filter(|row| !row.label.is_empty())
            .map(|row| (row.key, row.label.to_lowercase()))
            .collect();
        Ok(Self { labels })
    }

    /// Returns the truth about a forest. Labels in `negative` mean that a tree is normal; those in `positive` (all
    /// others, if it is `None`) that it is an anomaly of that kind. `note` gets a sentence about the number of labels that
    /// match no tree, and about that of trees in neither class.
    ///
    /// # Errors
    /// A label is in both classes, or the truth has too few trees of a class.
    pub fn truth(
        &self,
        forest: &Forest,
        positive: Option<&[String]>,
        negative: &[String],
        note: &dyn Fn(&str),
    ) -> Result<Truth> {
        let note_count = |what: &str, count: usize| {
            if count > 0 {
                note(&format!("{what}: {count}"));
            }
        };
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
                let tree = TreeIdx::from_index(tree);
                let of_tree = self.labels.get(&LabelKey::of(forest, tree));
                of_tree.or_else(|| self.labels.get(&EventKey::of(forest, tree).into()))
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
        note_count(
            "labels of trees that this forest does not have",
            self.labels.len() - num_labelled,
        );
        note_count(
            "trees whose label is neither positive nor negative, which are not counted",
            num_labelled - known.count(),
        );
        note_count(
            "trees without a label, which are not counted",
            forest.len() - num_labelled,
        );
        Ok(Truth::new(classes, kinds)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
        let table = TruthTable::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let rows = table.labels.into_iter();
        Ok(rows.map(|(key, label)| (key.to_string(), label)).collect())
    }

    #[test]
    fn both_forms_of_the_file_are_parsed() {
        let expected = [("#0-1", "4"), ("#2-0", "slow")];
        let expected = expected.map(|(tree, label)| (tree.to_owned(), label.to_owned()));
        let expected = Vec::from(expected);
        let minimal = "rank,index,label\n2,0,Slow\n0,1,4\n0,2,\n";
        assert_eq!(parse(minimal), Ok(expected.clone()));
        let full = "rank,exec,step,bits,label\n2,0,9,0,slow\n0,1,9,16,4\n";
        assert_eq!(parse(full), Ok(expected));
    }

    #[test]
    fn errors_name_their_line() {
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
