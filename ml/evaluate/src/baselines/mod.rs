//! Baselines for comparison with Callgrove's detector: established methods on the same rows, and one-line rules on
//! the trees.
//!
//! | name | method | source |
//! |---|---|---|
//! | `ocsvm` | one-class SVM with u = 1, C = 0.02 n, γ = 1 / median d² | sections 5.1 and 6.4.3 of the paper |
//! | `lof` | local outlier factor | Breunig et al. 2000, as scikit-learn computes it |
//! | `knn` | distance to the k-th nearest neighbour | Ramaswamy et al. 2000 |
//! | `mean-knn` | mean distance to the k nearest neighbours | Angiulli, Pizzuti 2002 |
//! | `hbos` | histograms of the columns | Goldstein, Dengel 2012, as PyOD computes it |
//! | `copod` | tail probabilities of the columns, tail chosen by skewness | Li et al. 2020, as PyOD computes it |
//! | `ecod` | the same, largest tail | Li et al. 2022, as PyOD computes it |
//! | `iforest` | isolation forest | Liu, Ting, Zhou 2008, by rustyml |
//! | `clusters` | size of the tree's cluster: collective anomalies, section 6.6 of the paper | HDBSCAN, Campello et al. 2015 |
//! | `svm` | supervised SVM in cross-validation: the result of labelling every tree | linfa-svm |
//!
//! [`score`] runs each by its name. The last three need external crates and exist with the feature `peers` only; the
//! browser version lacks them. [`time_rows`] are the rows that the paper calls "Time".
//!
//! | rule | number |
//! |---|---|
//! | `duration` | duration of the tree |
//! | `class-ratio` | ln(duration / median of its structure) |
//! | `ratio+rarity` | that + 2 · rarity of the structure in windows of the run |
//! | `largest` | largest exclusive time of a vertex |
//!
//! [`rule_scores`] runs a [`Rule`].
//!
//! Each method has its own file, which returns the values of its authors: the larger, the more anomalous. [`score`]
//! inverts them, so that everywhere else the smallest score is the most abnormal, as in [`callgrove_judge::detector`].
//! The sign has a meaning only for the one-class and the supervised SVM; for the others only the order counts.

mod baseline;
#[cfg(feature = "peers")]
mod clusters;
mod columns;
mod distance;
#[cfg(feature = "peers")]
mod iforest;
mod lof;
mod params;
mod pyod_copod;
mod pyod_ecod;
mod pyod_hbos;
mod rules;
#[cfg(feature = "peers")]
mod svm;
mod tails;
mod time;

pub use baseline::{Baseline, score};
#[cfg(feature = "peers")]
pub use clusters::{Clusters, clusters};
pub use distance::{kth_distances, mean_distances};
#[cfg(feature = "peers")]
pub use iforest::isolation_forest;
pub use lof::local_outlier_factors;
pub use params::{BaselineParams, ValidBaselineParams};
pub use pyod_copod::pyod_copod;
pub use pyod_ecod::pyod_ecod;
pub use pyod_hbos::pyod_hbos;
pub use rules::{Rule, rule_scores};
#[cfg(feature = "peers")]
pub use svm::supervised_svm;
pub use time::time_rows;
