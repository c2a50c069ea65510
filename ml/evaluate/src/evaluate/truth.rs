//! The true class of each tree.

use callgrove_model::Label;

use callgrove_trees::error::{MlError, Result};

/// The true class of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Unknown: the tree is ranked with the others, but neither counted nor asked about.
    Unknown,
    /// A normal tree.
    Negative,
    /// An anomaly of a kind, an index into [`Truth::kinds`].
    Positive(usize),
}

/// The true classes of all trees, as far as they are known; there is at least one normal tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    classes: Vec<Class>,
    kinds: Vec<String>,
}

impl Truth {
    /// Creates the truth from the classes of all trees, shape `[n_trees]`, and the names of the kinds of anomalies.
    ///
    /// # Errors
    /// [`MlError::TooFewExamples`] unless there is a normal tree (a run without anomalies has false alarms),
    /// [`MlError::LengthMismatch`] if a class names a kind that does not exist.
    pub fn new(classes: Vec<Class>, kinds: Vec<String>) -> Result<Self> {
        let largest = classes.iter().filter_map(|class| match class {
            Class::Positive(kind) => Some(*kind),
            Class::Unknown | Class::Negative => None,
        });
        let num_needed = largest.max().map_or(0, |kind| kind + 1);
        if num_needed > kinds.len() {
            return Err(MlError::LengthMismatch {
                what: "kinds of anomalies",
                expected: num_needed,
                found: kinds.len(),
            });
        }
        let truth = Self { classes, kinds };
        let (num_positive, num_negative) = (truth.num_positive(), truth.num_negative());
        if num_negative == 0 {
            return Err(MlError::TooFewExamples {
                num_positive,
                num_negative,
                needed: 1,
            });
        }
        Ok(truth)
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns false: there is always a normal tree.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the class of each tree.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Returns the names of the kinds of anomalies.
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// Returns the number of anomalies.
    pub fn num_positive(&self) -> usize {
        let is_positive = |class: &&Class| matches!(class, Class::Positive(_));
        self.classes.iter().filter(is_positive).count()
    }

    /// Returns the number of normal trees.
    pub fn num_negative(&self) -> usize {
        let is_negative = |class: &&Class| **class == Class::Negative;
        self.classes.iter().filter(is_negative).count()
    }

    /// Returns the number of anomalies of a kind.
    pub fn num_of_kind(&self, kind: usize) -> usize {
        let is_kind = |class: &&Class| **class == Class::Positive(kind);
        self.classes.iter().filter(is_kind).count()
    }

    /// Returns whether each tree is an anomaly; `None` where it is unknown.
    pub fn is_anomaly(&self) -> Vec<Option<bool>> {
        let known = |class: &Class| match class {
            Class::Unknown => None,
            Class::Negative => Some(false),
            Class::Positive(_) => Some(true),
        };
        self.classes.iter().map(known).collect()
    }

    /// Returns the oracle's label of a tree.
    pub(super) fn label(&self, tree: usize) -> Option<Label> {
        match self.classes.get(tree)? {
            Class::Unknown => None,
            Class::Negative => Some(Label::Normal),
            Class::Positive(_) => Some(Label::Abnormal),
        }
    }
}
