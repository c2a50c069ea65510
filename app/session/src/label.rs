//! Labels: what a person knows about trees.

use std::collections::BTreeMap;

use callgrove_model::{Forest, Label, ProgramId, RankId, TreeIdx};
use serde::{Deserialize, Serialize};

use crate::label_csv::{LabelCsvError, label_rows};

/// What names a tree in every session with the same trace and root function: the index-th
/// execution of the root function on a rank, counted from 0 in order of entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TreeKey {
    /// Program; left out in files of runs with one program.
    #[serde(default)]
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Invocation number on the rank.
    pub index: u32,
}

impl TreeKey {
    /// The key of a tree.
    pub fn of(forest: &Forest, tree: TreeIdx) -> Self {
        let code = forest.code(tree);
        Self {
            program: forest.lane_of(tree).program,
            rank: code.rank,
            index: code.index,
        }
    }
}

/// The labels of one root function's trees, in order of key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelSet {
    labels: BTreeMap<TreeKey, Label>,
}

impl LabelSet {
    /// The label of a tree.
    pub fn get(&self, key: &TreeKey) -> Option<Label> {
        self.labels.get(key).copied()
    }

    /// Sets or removes a label; the answer is the label before.
    pub fn set(&mut self, key: TreeKey, label: Option<Label>) -> Option<Label> {
        match label {
            Some(label) => self.labels.insert(key, label),
            None => self.labels.remove(&key),
        }
    }

    /// Keys and labels in order of key.
    pub fn iter(&self) -> impl Iterator<Item = (TreeKey, Label)> + '_ {
        self.labels.iter().map(|(&key, &label)| (key, label))
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of trees with `label`.
    pub fn count(&self, label: Label) -> usize {
        self.labels
            .values()
            .filter(|&&other| other == label)
            .count()
    }

    /// The labels by tree index, shape `[n_trees]`; labels of trees that the forest lacks are left out.
    pub fn by_tree(&self, forest: &Forest) -> Vec<Option<Label>> {
        (0..forest.len())
            .map(|index| self.get(&TreeKey::of(forest, TreeIdx::from_index(index))))
            .collect()
    }

    /// As CSV with the header `rank,index,label`; a column `program` comes first if there are several.
    pub fn to_csv(&self) -> String {
        let with_program = self
            .labels
            .keys()
            .any(|key| key.program != ProgramId::default());
        let mut text = String::from(if with_program {
            "program,rank,index,label\n"
        } else {
            "rank,index,label\n"
        });
        for (key, label) in self.iter() {
            if with_program {
                text.push_str(&format!("{},", key.program));
            }
            text.push_str(&format!(
                "{},{},{}\n",
                key.rank,
                key.index,
                label_name(label)
            ));
        }
        text
    }

    /// From CSV as [`label_rows`] reads it, with the labels `normal` and `abnormal`. A tree that stands
    /// twice keeps its last label.
    ///
    /// # Errors
    /// [`LabelCsvError`] with the line.
    pub fn from_csv(text: &[u8]) -> Result<Self, LabelCsvError> {
        let mut labels = Self::default();
        for row in label_rows(text)? {
            let label = match &row.label {
                value if value.eq_ignore_ascii_case("normal") => Label::Normal,
                value if value.eq_ignore_ascii_case("abnormal") => Label::Abnormal,
                value => {
                    return Err(LabelCsvError::BadField {
                        line: row.line,
                        column: "label",
                        value: value.clone(),
                        expected: "`normal` or `abnormal`",
                    });
                }
            };
            labels.set(row.tree, Some(label));
        }
        Ok(labels)
    }
}

impl FromIterator<(TreeKey, Label)> for LabelSet {
    fn from_iter<I: IntoIterator<Item = (TreeKey, Label)>>(labels: I) -> Self {
        Self {
            labels: labels.into_iter().collect(),
        }
    }
}

/// The word for a label in files.
pub(crate) fn label_name(label: Label) -> &'static str {
    match label {
        Label::Normal => "normal",
        Label::Abnormal => "abnormal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(rank: u32, index: u32) -> TreeKey {
        TreeKey {
            program: ProgramId(0),
            rank: RankId(rank),
            index,
        }
    }

    #[test]
    fn labels_survive_the_way_through_csv() {
        let labels: LabelSet = [(key(4, 40), Label::Abnormal), (key(0, 1), Label::Normal)]
            .into_iter()
            .collect();
        assert_eq!(
            labels.to_csv(),
            "rank,index,label\n0,1,normal\n4,40,abnormal\n"
        );
        assert_eq!(LabelSet::from_csv(labels.to_csv().as_bytes()), Ok(labels));
    }

    #[test]
    fn columns_may_stand_in_any_order_and_case() {
        let labels = LabelSet::from_csv(b"note,Label,index,rank\nx, ABNORMAL ,3,2\n").unwrap();
        assert_eq!(
            labels.iter().collect::<Vec<_>>(),
            [(key(2, 3), Label::Abnormal)]
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| LabelSet::from_csv(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("rank,label\n1,normal\n"),
            "no column `index`; the header must have rank,index,label"
        );
        assert_eq!(
            error("rank,index,label\n1,2,normal\n1,x,normal\n"),
            "line 3: index is `x`, expected a whole number"
        );
        assert_eq!(
            error("rank,index,label\n1,2,odd\n"),
            "line 2: label is `odd`, expected `normal` or `abnormal`"
        );
        assert!(
            error("rank,index,label\n1,2\n").starts_with("not a CSV file: "),
            "a short row is refused"
        );
    }

    #[test]
    fn a_second_program_gets_its_column() {
        let key = TreeKey {
            program: ProgramId(1),
            rank: RankId(0),
            index: 0,
        };
        let labels: LabelSet = [(key, Label::Normal)].into_iter().collect();
        assert_eq!(LabelSet::from_csv(labels.to_csv().as_bytes()), Ok(labels));
    }
}
