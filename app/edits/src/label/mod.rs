//! Labels that users give to trees and executions.

mod csv;
mod key;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{Forest, Label, ProgramId, TimeNs, TreeIdx};
use callgrove_query::EventKey;
use serde::{Deserialize, Serialize};

pub use csv::{LabelCsvError, LabelRow, label_rows};
pub use key::{LabelKey, TreeKey};

/// The labels of one root function's executions, in order of key, trees first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "LabelColumns", into = "LabelColumns")]
pub struct LabelSet {
    labels: BTreeMap<LabelKey, (Label, LabelOrigin)>,
}

/// Who gave a label, and when, as far as known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelOrigin {
    /// Author: a login name.
    pub by: Option<Arc<str>>,
    /// Time since the epoch.
    pub at: Option<TimeNs>,
}

/// A label with its key and its origin.
pub struct GivenLabel {
    /// The labelled tree or execution.
    pub key: LabelKey,
    /// The label.
    pub label: Label,
    /// Who gave it, and when.
    pub origin: LabelOrigin,
}

/// A compact form of [`LabelSet`] that stores each author once.
#[derive(Serialize, Deserialize)]
struct LabelColumns {
    labels: Vec<(LabelKey, Label)>,
    names: Vec<Arc<str>>,
    /// Indices into `names`, in the order of the labels.
    by: Vec<Option<usize>>,
    /// Times since the epoch, in the order of the labels.
    #[serde(default)]
    at: Vec<Option<TimeNs>>,
}

impl From<LabelColumns> for LabelSet {
    fn from(columns: LabelColumns) -> Self {
        let LabelColumns {
            labels,
            names,
            by,
            at,
        } = columns;
        let by = by.into_iter().chain(std::iter::repeat(None));
        let at = at.into_iter().chain(std::iter::repeat(None));
        let given = labels.into_iter().zip(by.zip(at));
        let given = given.map(|((key, label), (by, at))| GivenLabel {
            key,
            label,
            origin: LabelOrigin {
                by: by.and_then(|by| names.get(by).cloned()),
                at,
            },
        });
        given.collect()
    }
}

impl From<LabelSet> for LabelColumns {
    fn from(set: LabelSet) -> Self {
        let origins = || set.labels.values().map(|(_, origin)| origin);
        let by = || origins().map(|origin| origin.by.as_ref());
        let names: BTreeSet<&Arc<str>> = by().flatten().collect();
        let names: Vec<Arc<str>> = names.into_iter().cloned().collect();
        Self {
            labels: set.iter().collect(),
            by: by().map(|by| names.binary_search(by?).ok()).collect(),
            at: origins().map(|origin| origin.at).collect(),
            names,
        }
    }
}

impl LabelSet {
    /// Returns the label of a tree or a record.
    pub fn get(&self, key: impl Into<LabelKey>) -> Option<Label> {
        self.labels.get(&key.into()).map(|(label, _)| *label)
    }

    /// Returns who gave a label, and when.
    pub fn origin(&self, key: impl Into<LabelKey>) -> Option<&LabelOrigin> {
        self.labels.get(&key.into()).map(|(_, origin)| origin)
    }

    /// Returns the author of a label, if known.
    pub fn author(&self, key: impl Into<LabelKey>) -> Option<&str> {
        self.origin(key)?.by.as_deref()
    }

    /// Sets or removes a label, without an origin. Returns the label before.
    pub fn set(&mut self, key: impl Into<LabelKey>, label: Option<Label>) -> Option<Label> {
        let key = key.into();
        let before = match label {
            Some(label) => self.labels.insert(key, (label, LabelOrigin::default())),
            None => self.labels.remove(&key),
        };
        before.map(|(label, _)| label)
    }

    /// Returns keys and labels in order of key.
    pub fn iter(&self) -> impl Iterator<Item = (LabelKey, Label)> + '_ {
        self.labels.iter().map(|(&key, &(label, _))| (key, label))
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the number of trees with `label`.
    pub fn count(&self, label: Label) -> usize {
        self.labels
            .values()
            .filter(|(other, _)| *other == label)
            .count()
    }

    /// Returns the labels by tree index, shape `[n_trees]`; labels of executions that are not trees of the forest
    /// are omitted. If a tree is labelled both as a tree and as a record, the record's label is the
    /// newer one ([`crate::Edit::SetLabels`] removes it) and takes precedence.
    pub fn by_tree(&self, forest: &Forest) -> Vec<Option<Label>> {
        by_tree(forest, |key| self.get(key))
    }

    /// Returns the key of a tree's label in this set, as [`LabelSet::by_tree`] looks it up.
    pub fn key_of(&self, forest: &Forest, tree: TreeIdx) -> LabelKey {
        let record = EventKey::of(forest, tree).into();
        if self.labels.contains_key(&record) {
            record
        } else {
            LabelKey::of(forest, tree)
        }
    }

    /// Copies a label with its origin from another set.
    pub fn take_over(&mut self, key: LabelKey, others: &Self, of: LabelKey) {
        if let Some(given) = others.labels.get(&of) {
            self.labels.insert(key, given.clone());
        }
    }

    /// Returns the labels as CSV with the header `rank,index,label`; a column `program` comes first if there are
    /// several programs, a column `event_id` last if there are labels of records.
    pub fn to_csv(&self) -> String {
        let with_program = self.labels.keys().any(|key| *key.program() != ProgramId(0));
        let with_events = matches!(self.labels.keys().last(), Some(LabelKey::Event(_)));
        let mut text = format!(
            "{}rank,index,label{}\n",
            if with_program { "program," } else { "" },
            if with_events { ",event_id" } else { "" }
        );
        for (key, label) in self.iter() {
            if with_program {
                text.push_str(&format!("{},", key.program()));
            }
            let (rank, index, event) = match key {
                LabelKey::Tree(key) => (key.rank, key.index.to_string(), String::new()),
                LabelKey::Event(key) => (key.event.rank, String::new(), key.event.to_string()),
            };
            text.push_str(&format!("{rank},{index},{}", label.name()));
            if with_events {
                text.push_str(&format!(",{event}"));
            }
            text.push('\n');
        }
        text
    }

    /// Reads CSV in the format of [`label_rows`], with the labels `normal` and `abnormal`. A tree that occurs
    /// twice with the same label counts once.
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
            if labels.get(row.key).is_some_and(|before| before != label) {
                return Err(LabelCsvError::Contradiction {
                    line: row.line,
                    key: row.key.to_string(),
                    label: label.name(),
                });
            }
            labels.set(row.key, Some(label));
        }
        Ok(labels)
    }
}

impl<K: Into<LabelKey>> FromIterator<(K, Label)> for LabelSet {
    fn from_iter<I: IntoIterator<Item = (K, Label)>>(labels: I) -> Self {
        let labels = labels.into_iter();
        Self {
            labels: labels
                .map(|(key, label)| (key.into(), (label, LabelOrigin::default())))
                .collect(),
        }
    }
}

impl FromIterator<GivenLabel> for LabelSet {
    fn from_iter<I: IntoIterator<Item = GivenLabel>>(labels: I) -> Self {
        let labels = labels.into_iter();
        Self {
            labels: labels.map(|it| (it.key, (it.label, it.origin))).collect(),
        }
    }
}

/// Returns the result of `get` for each tree, shape `[n_trees]`. The record of a tree takes precedence.
pub fn by_tree(forest: &Forest, get: impl Fn(LabelKey) -> Option<Label>) -> Vec<Option<Label>> {
    (0..forest.len())
        .map(TreeIdx::from_index)
        .map(|tree| {
            let of_record = get(EventKey::of(forest, tree).into());
            of_record.or_else(|| get(LabelKey::of(forest, tree)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use callgrove_model::{ExecLabel, RankId, StepId};

    use super::*;

    fn key(rank: u32, index: u32) -> TreeKey {
        TreeKey {
            program: ProgramId(0),
            rank: RankId(rank),
            index,
        }
    }

    #[test]
    fn labels_survive_csv() {
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
    fn columns_may_be_in_any_order_and_case() {
        let labels = LabelSet::from_csv(b"note,Label,index,rank\nx, ABNORMAL ,3,2\n").unwrap();
        assert_eq!(
            labels.iter().collect::<Vec<_>>(),
            [(key(2, 3).into(), Label::Abnormal)]
        );
    }

    #[test]
    fn records_without_a_tree_are_identified_by_their_event() {
        let event = ExecLabel {
            rank: RankId(3),
            step: StepId(7),
            row: 120,
        };
        let record = EventKey {
            program: ProgramId(0),
            event,
        };
        let labels: LabelSet = [
            (LabelKey::from(record), Label::Abnormal),
            (key(0, 1).into(), Label::Normal),
        ]
        .into_iter()
        .collect();
        let csv = labels.to_csv();
        assert_eq!(
            csv,
            "rank,index,label,event_id\n0,1,normal,\n3,,abnormal,3:7:120\n"
        );
        assert_eq!(LabelSet::from_csv(csv.as_bytes()), Ok(labels));
        let error = LabelSet::from_csv(b"rank,index,label,event_id\n3,,normal,3:7\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: event_id is `3:7`, expected rank:step:row"
        );
    }

    #[test]
    fn errors_have_a_line() {
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
