//! The baselines by name, and one function that runs any of them.

use std::fmt;

use callgrove_model::Progress;

use super::mean_distances;
use super::{
    ValidBaselineParams, kth_distances, local_outlier_factors, pyod_copod, pyod_ecod, pyod_hbos,
};
use callgrove_judge::decision::normal_norm;
use callgrove_learn::ocsvm::{self, OcsvmParams};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// A method for comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Baseline {
    /// The one-class SVM with u = 1.
    Ocsvm,
    /// Local outlier factor.
    Lof,
    /// Distance to the k-th nearest neighbour.
    Knn,
    /// Mean distance to the k nearest neighbours.
    MeanKnn,
    /// PyOD's HBOS: histograms of the columns.
    PyodHbos,
    /// PyOD's COPOD: tail probabilities, tail by skewness.
    PyodCopod,
    /// PyOD's ECOD: tail probabilities, largest tail.
    PyodEcod,
    /// Isolation forest.
    #[cfg(feature = "peers")]
    Iforest,
    /// Size of the tree's cluster.
    #[cfg(feature = "peers")]
    Clusters,
    /// Supervised SVM in cross-validation.
    #[cfg(feature = "peers")]
    Svm,
}

impl Baseline {
    /// All baselines.
    pub const ALL: &[Self] = &[
        Self::Ocsvm,
        Self::Lof,
        Self::Knn,
        Self::MeanKnn,
        Self::PyodHbos,
        Self::PyodCopod,
        Self::PyodEcod,
        #[cfg(feature = "peers")]
        Self::Iforest,
        #[cfg(feature = "peers")]
        Self::Clusters,
        #[cfg(feature = "peers")]
        Self::Svm,
    ];

    /// Returns its name, which stays the same in all versions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ocsvm => "ocsvm",
            Self::Lof => "lof",
            Self::Knn => "knn",
            Self::MeanKnn => "mean-knn",
            Self::PyodHbos => "hbos",
            Self::PyodCopod => "copod",
            Self::PyodEcod => "ecod",
            #[cfg(feature = "peers")]
            Self::Iforest => "iforest",
            #[cfg(feature = "peers")]
            Self::Clusters => "clusters",
            #[cfg(feature = "peers")]
            Self::Svm => "svm",
        }
    }

    /// Returns the baseline with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|baseline| baseline.name() == name)
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the scores of rows by a baseline, shape `[num_rows]`; the smallest score is the most abnormal.
///
/// `is_anomaly`, shape `[num_rows]`, is the truth as far as it is known; only the supervised SVM uses it, so the
/// others accept an empty one too. `seed` is for its folds and the isolation forest. The one-class SVM's scores are
/// signed like the detector's, those of the supervised SVM are its decision values (negative = anomaly); the scores
/// of all others are the negative of the results of their functions.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`]; [`callgrove_trees::MlError::TooFewExamples`] and
/// [`callgrove_trees::MlError::LengthMismatch`] of the supervised SVM.
#[cfg_attr(
    not(feature = "peers"),
    expect(unused_variables, reason = "only methods of other crates take them")
)]
pub fn score(
    baseline: Baseline,
    rows: &Rows,
    is_anomaly: &[Option<bool>],
    params: &ValidBaselineParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    let settings = params.get();
    let k = settings.num_neighbours;
    let anomaly = match baseline {
        Baseline::Ocsvm => return one_class(rows, params, progress),
        Baseline::Lof => local_outlier_factors(rows, k, progress)?,
        Baseline::Knn => kth_distances(rows, k, progress)?,
        Baseline::MeanKnn => mean_distances(rows, k, progress)?,
        Baseline::PyodHbos => pyod_hbos(rows, settings.num_bins, progress)?,
        Baseline::PyodCopod => pyod_copod(rows, progress)?,
        Baseline::PyodEcod => pyod_ecod(rows, progress)?,
        #[cfg(feature = "peers")]
        Baseline::Iforest => super::isolation_forest(rows, params, seed, progress)?,
        #[cfg(feature = "peers")]
        Baseline::Clusters => super::clusters(rows, params, progress)?.anomaly,
        #[cfg(feature = "peers")]
        Baseline::Svm => super::supervised_svm(rows, is_anomaly, params, seed, progress)?,
    };
    Ok(anomaly.iter().map(|anomaly| -anomaly).collect())
}

fn one_class(
    rows: &Rows,
    params: &ValidBaselineParams,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    let settings = params.get();
    let c = settings.nu * rows.len().real();
    let norm = normal_norm(&rows.norms(), &vec![0.0; rows.len()], 0.99);
    let ocsvm = OcsvmParams::new(settings.ocsvm_gamma.gamma(rows, norm), c).check()?;
    let trained = ocsvm::train(rows, &vec![1.0; rows.len()], &ocsvm, None, progress)?;
    Ok(trained.scores().to_vec())
}
