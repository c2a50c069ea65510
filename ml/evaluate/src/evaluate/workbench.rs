//! Scores of any method, with all that methods share made once.

use callgrove_model::{Forest, Progress};

use super::{CurvePoint, Method, RowsOf, Truth, ValidCurveParams, learning_curve};
use crate::baselines::{self, ValidBaselineParams};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, ValidDetectorParams, causes, listed_scores,
};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};

/// A forest and the truth about it.
#[derive(Debug)]
pub struct Workbench<'a> {
    forest: &'a Forest,
    truth: &'a Truth,
    params: ValidBaselineParams,
    ours: ValidDetectorParams,
    paper: ValidDetectorParams,
    seed: u64,
    ours_made: Option<Embedding>,
    paper_made: Option<Embedding>,
    time_made: Option<Rows>,
}

impl<'a> Workbench<'a> {
    /// Nothing is done yet. `ours` are the settings of [`Method::Ours`].
    ///
    /// # Errors
    /// [`MlError::LengthMismatch`] if the truth is about another number of trees,
    /// [`MlError::InvalidParam`].
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
            ours_made: None,
            paper_made: None,
            time_made: None,
        })
    }

    /// Scores of all trees without labels, shape `[n_trees]`; the smallest is the most abnormal. Those of a
    /// detector are as the list has them: what the tracer's writes explain is no alarm ([`listed_scores`]).
    ///
    /// # Errors
    /// Those of the method.
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

    /// The learning curve of a method; `None` if it cannot learn from a few labels.
    ///
    /// # Errors
    /// Those of the method, and of [`learning_curve`].
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

    /// The rows that baselines work on.
    ///
    /// # Errors
    /// [`MlError::EmptyForest`], [`MlError::Cancelled`].
    pub fn rows(&mut self, rows: RowsOf, progress: Progress<'_>) -> Result<&Rows> {
        match rows {
            RowsOf::Excess => Ok(self.embedding(false, progress)?.rows()),
            RowsOf::Stack2vec => Ok(self.embedding(true, progress)?.rows()),
            RowsOf::Time => {
                let made = match self.time_made.take() {
                    Some(made) => made,
                    None => baselines::time_rows(self.forest)?,
                };
                Ok(self.time_made.insert(made))
            }
        }
    }

    fn embedding(&mut self, is_paper: bool, progress: Progress<'_>) -> Result<&Embedding> {
        let (made, params) = if is_paper {
            (&mut self.paper_made, &self.paper)
        } else {
            (&mut self.ours_made, &self.ours)
        };
        let embedding = match made.take() {
            Some(embedding) => embedding,
            None => Embedding::fit(self.forest, params, self.seed, progress)?,
        };
        Ok(made.insert(embedding))
    }
}
