//! Settings of the baselines.

use callgrove_learn::features::GammaRule;
use callgrove_trees::error::{Result, check_param};
use callgrove_trees::real::Real;

/// Settings of the baselines. The defaults are those of the established libraries, except `min_cluster_size`: with
/// the 5 of HDBSCAN's authors, two of the three traces of the study were split into a hundred small clusters and
/// noise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BaselineParams {
    /// Number of nearest neighbours of `lof`, `knn` and `mean-knn`, from 1 on; with fewer other rows, all of them.
    pub num_neighbours: usize,
    /// Number of bins of `hbos`, from 1 on.
    pub num_bins: usize,
    /// Expected share of outliers of `ocsvm`, above 0 up to 1.
    pub nu: f64,
    /// Width of the kernel of `ocsvm`.
    pub ocsvm_gamma: GammaRule,
    /// Minimum number of trees of a cluster of `clusters`, from 2 on; also the number of neighbours that determine
    /// the density around a tree.
    pub min_cluster_size: usize,
    /// Number of trees of `iforest`, from 1 on.
    pub num_isolation_trees: usize,
    /// Number of rows from which each tree of `iforest` learns, from 2 on.
    pub isolation_sample: usize,
    /// C of `svm` > 0, before it is divided between the classes so that both weigh the same.
    pub svm_c: f64,
    /// Width of the kernel of `svm`.
    pub svm_gamma: GammaRule,
    /// Number of folds of its cross-validation, from 2 on.
    pub num_folds: usize,
    /// Maximum number of trees it learns from in a fold, from 2 on: the solver stores a full matrix of them (16
    /// million numbers for 4,000).
    pub max_training: usize,
}

/// Checked [`BaselineParams`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidBaselineParams(BaselineParams);

impl Default for BaselineParams {
    fn default() -> Self {
        Self {
            num_neighbours: 20,
            num_bins: 10,
            nu: 0.02,
            ocsvm_gamma: GammaRule::MedianDistance(1.0),
            min_cluster_size: 20,
            num_isolation_trees: 100,
            isolation_sample: 256,
            svm_c: 1.0,
            // 2 / mean d² is 1 / (columns · variance): scikit-learn's "scale".
            svm_gamma: GammaRule::MeanDistance(2.0),
            num_folds: 5,
            max_training: 4_000,
        }
    }
}

impl BaselineParams {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidBaselineParams> {
        let at_least = |name, value: usize, min: usize, wanted| {
            check_param(name, value.real(), value >= min, wanted)
        };
        at_least("num_neighbours", self.num_neighbours, 1, "1 or more")?;
        at_least("num_bins", self.num_bins, 1, "1 or more")?;
        at_least("min_cluster_size", self.min_cluster_size, 2, "2 or more")?;
        at_least(
            "num_isolation_trees",
            self.num_isolation_trees,
            1,
            "1 or more",
        )?;
        at_least("isolation_sample", self.isolation_sample, 2, "2 or more")?;
        at_least("num_folds", self.num_folds, 2, "2 or more")?;
        at_least("max_training", self.max_training, 2, "2 or more")?;
        let is_valid = self.nu > 0.0 && self.nu <= 1.0;
        check_param("nu", self.nu, is_valid, "above 0 and at most 1")?;
        let is_valid = self.svm_c.is_finite() && self.svm_c > 0.0;
        check_param("svm_c", self.svm_c, is_valid, "a finite number above 0")?;
        self.ocsvm_gamma.check()?;
        self.svm_gamma.check()?;
        Ok(ValidBaselineParams(self))
    }
}

impl ValidBaselineParams {
    /// Returns the checked settings.
    pub fn get(&self) -> &BaselineParams {
        &self.0
    }
}
