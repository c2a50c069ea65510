//! Scores of any method; the parts that methods share are computed once.

use callgrove_model::{Forest, Progress};

use super::{CurvePoint, Method, RowsOf, Truth, ValidCurveParams, learning_curve};
use crate::baselines::{self, ValidBaselineParams};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, ValidDetectorParams, causes, listed_scores,
};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};

/// A forest and the true classes of its trees.
#[derive(Debug)]
pub struct Workbench<'a> {
    forest: &'a Forest,
    truth: &'a Truth,
    params: ValidBaselineParams,
    ours: ValidDetectorParams,
    paper: ValidDetectorParams,
    seed: u64,
    our_embedding: Option<Embedding>,
    paper_embedding: Option<Embedding>,
    time_rows: Option<Rows>,
}

impl<'a> Workbench<'a> {
    /// Creates a workbench without any results. `ours` are the settings of [`Method::Ours`].
    ///
    /// # Errors
    /// [`MlError::LengthMismatch`] if the truth has another number of trees, [`MlError::InvalidParam`].
    pub fn new(
        forest: &'a Forest,
        truth: &'a Truth,
        ours: DetectorParams,
        params: ValidBaselineParams,
        seed: u64,
    ) -> Result<Self> {
        if truth.len() != forest.len() {
            return Err(MlError::LengthMismatch {
                what: "classes",
                expected: forest.len(),
                found: truth.len(),
            });
        }
        Ok(Self {
            forest,
            truth,
            params,
            ours: ours.check()?,
            paper: DetectorParams::paper().check()?,
            seed,
            our_embedding: None,
            paper_embedding: None,
            time_rows: None,
        })
    }

    /// Returns the scores of all trees without labels, shape `[n_trees]`; the smallest is the most abnormal. Those of
    /// a detector are the listed ones: trees explained by the tracer's writes are not alarms ([`listed_scores`]).
    ///
    /// # Errors
    /// The errors of the method.
    pub fn scores(&mut self, method: Method, progress: Progress<'_>) -> Result<Vec<f64>> {
        let (first, then) = (progress.part(0.0, 0.5), progress.part(0.5, 1.0));
        match method {
            Method::Ours | Method::Paper => {
                let embedding = self.embedding(method == Method::Paper, first)?;
                let labels = vec![None; embedding.num_trees()];
                let detector = Detector::train(embedding, &labels, None, then)?;
                let abnormal = detector.abnormal();
                let causes = causes(abnormal, &labels, embedding.write_shares());
                Ok(listed_scores(detector.scores(), abnormal, &causes))
            }
            Method::Rule(rule) => baselines::rule_scores(rule, self.forest, progress),
            Method::Baseline(rows, baseline) => {
                let (params, seed, is_anomaly) = (self.params, self.seed, self.truth.is_anomaly());
                let rows = self.rows(rows, first)?;
                baselines::score(baseline, rows, &is_anomaly, &params, seed, then)
            }
        }
    }

    /// Returns the learning curve of a method; `None` if it cannot learn from a few labels.
    ///
    /// # Errors
    /// The errors of the method and of [`learning_curve`].
    pub fn curve(
        &mut self,
        method: Method,
        params: &ValidCurveParams,
        query: QueryStrategy,
        progress: Progress<'_>,
    ) -> Result<Option<Vec<CurvePoint>>> {
        if !method.learns() {
            return Ok(None);
        }
        let truth = self.truth;
        let embedding = self.embedding(method == Method::Paper, progress.part(0.0, 0.3))?;
        learning_curve(embedding, truth, params, query, progress.part(0.3, 1.0)).map(Some)
    }

    /// Returns the rows that baselines use.
    ///
    /// # Errors
    /// [`MlError::EmptyForest`], [`MlError::Cancelled`].
    pub fn rows(&mut self, rows: RowsOf, progress: Progress<'_>) -> Result<&Rows> {
        match rows {
            RowsOf::Excess => Ok(self.embedding(false, progress)?.rows()),
            RowsOf::Stack2vec => Ok(self.embedding(true, progress)?.rows()),
            RowsOf::Time => {
                let made = match self.time_rows.take() {
                    Some(made) => made,
                    None => baselines::time_rows(self.forest)?,
                };
                Ok(self.time_rows.insert(made))
            }
        }
    }

    fn embedding(&mut self, is_paper: bool, progress: Progress<'_>) -> Result<&Embedding> {
        let (made, params) = if is_paper {
            (&mut self.paper_embedding, &self.paper)
        } else {
            (&mut self.our_embedding, &self.ours)
        };
        let embedding = match made.take() {
            Some(embedding) => embedding,
            None => Embedding::fit(self.forest, params, self.seed, progress)?,
        };
        Ok(made.insert(embedding))
    }
}
