//! Labels: what a person knows about trees.

use std::collections::BTreeMap;

use callgrove_model::{Forest, Label, ProgramId, RankId, TreeIdx};
use serde::{Deserialize, Serialize};

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

/// A labels file that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LabelCsvError {
    /// Not CSV at all.
    #[error("not a CSV file: {cause}")]
    Malformed {
        /// What the parser says, with the line.
        cause: String,
    },
    /// A column is missing.
    #[error("no column `{column}`; the header must have rank,index,label")]
    NoColumn {
        /// The column.
        column: &'static str,
    },
    /// A field does not have the form it must have.
    #[error("line {line}: {column} is `{value}`, expected {expected}")]
    BadField {
        /// Line, counted from 1.
        line: u64,
        /// Column.
        column: &'static str,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
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

    /// From CSV with the columns rank, index, label (and program, if given) in any order; other
    /// columns are ignored. A tree that stands twice keeps its last label.
    ///
    /// # Errors
    /// [`LabelCsvError`] with the line.
    pub fn from_csv(text: &[u8]) -> Result<Self, LabelCsvError> {
        let malformed = |error: csv::Error| LabelCsvError::Malformed {
            cause: error.to_string(),
        };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text);
        let header = reader.headers().map_err(malformed)?.clone();
        let column = |name| {
            header
                .iter()
                .position(|field| field.eq_ignore_ascii_case(name))
        };
        let needed = |name| column(name).ok_or(LabelCsvError::NoColumn { column: name });
        let (rank, index, label, program) = (
            needed("rank")?,
            needed("index")?,
            needed("label")?,
            column("program"),
        );
        let mut labels = Self::default();
        for record in reader.records() {
            let record = record.map_err(malformed)?;
            let number = |at: usize, column| parse_number(&record, at, column);
            let key = TreeKey {
                program: ProgramId(program.map_or(Ok(0), |at| number(at, "program"))?),
                rank: RankId(number(rank, "rank")?),
                index: number(index, "index")?,
            };
            labels.set(key, Some(parse_label(&record, label)?));
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

fn parse_number(
    record: &csv::StringRecord,
    at: usize,
    column: &'static str,
) -> Result<u32, LabelCsvError> {
    let value = record.get(at).unwrap_or_default();
    value
        .parse()
        .ok()
        .ok_or_else(|| bad_field(record, column, value, "a whole number"))
}

fn parse_label(record: &csv::StringRecord, at: usize) -> Result<Label, LabelCsvError> {
    match record.get(at).unwrap_or_default() {
        value if value.eq_ignore_ascii_case("normal") => Ok(Label::Normal),
        value if value.eq_ignore_ascii_case("abnormal") => Ok(Label::Abnormal),
        value => Err(bad_field(record, "label", value, "`normal` or `abnormal`")),
    }
}

fn bad_field(
    record: &csv::StringRecord,
    column: &'static str,
    value: &str,
    expected: &'static str,
) -> LabelCsvError {
    let line = record.position().map_or(0, csv::Position::line);
    LabelCsvError::BadField {
        line,
        column,
        value: value.to_owned(),
        expected,
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
