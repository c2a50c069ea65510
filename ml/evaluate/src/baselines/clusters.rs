//! Clusters for collective anomalies: trees that are many, alike, and dissimilar to all others.

use callgrove_model::Progress;
use ndarray_of_clusters::Array2;
use petal_clustering::{Fit, HDbscan};
use petal_neighbors::distance::Euclidean;

use super::ValidBaselineParams;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// The clusters of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Clusters {
    /// Cluster of each row, shape `[num_rows]`, numbered from 0 in order of their first rows; `None` for noise.
    pub cluster: Vec<Option<u32>>,
    /// Number of rows of each cluster, shape `[num_clusters]`.
    pub sizes: Vec<usize>,
    /// Anomaly of each row, shape `[num_rows]`: ln(n / size) in a cluster, so that small clusters have high
    /// values; ln n + g for noise, where g (0..=1) is the outlier score of its surroundings.
    pub anomaly: Vec<f64>,
}

/// Section 6.6 of the paper reports clusters whose average is unusual, without a definition of unusual; here it means
/// small.
///
/// Finds clusters by HDBSCAN on Euclidean distances, with
/// [`super::BaselineParams::min_cluster_size`]; fewer rows than two clusters need are all noise.
///
/// R. Campello et al.: Hierarchical density estimates for data clustering, visualization, and outlier detection, 2015
/// (doi:10.1145/2733381), whose GLOSH score is g. We use HDBSCAN instead of DBSCAN because it needs no radius. Rows
/// become a dense matrix; the time grows like n ln n for few columns and like n² for many.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`] before it begins: the external crate cannot be interrupted.
pub fn clusters(
    rows: &Rows,
    params: &ValidBaselineParams,
    progress: Progress<'_>,
) -> Result<Clusters> {
    progress.at(0.0)?;
    let min_cluster_size = params.get().min_cluster_size;
    let count = rows.len();
    if count < 2 * min_cluster_size || rows.num_columns() == 0 {
        return Ok(Clusters {
            cluster: vec![None; count],
            sizes: Vec::new(),
            anomaly: vec![(count.real()).ln(); count],
        });
    }
    let mut matrix = Array2::zeros((count, rows.num_columns()));
    for row in 0..count {
        for (column, value) in rows.row(row).entries() {
            matrix[[row, column]] = value;
        }
    }
    let mut hdbscan = HDbscan {
        alpha: 1.0,
        min_samples: min_cluster_size,
        min_cluster_size,
        metric: Euclidean::default(),
        boruvka: true,
    };
    let (found, _noise, outlier_scores) = hdbscan.fit(&matrix, None);
    let mut members: Vec<Vec<usize>> = found.into_values().collect();
    members.sort_unstable_by_key(|rows| rows.iter().min().copied());
    let mut cluster = vec![None; count];
    for (number, rows) in (0..).zip(&members) {
        for &row in rows {
            cluster[row] = Some(number);
        }
    }
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    let anomaly = cluster.iter().zip(&outlier_scores).map(|(cluster, score)| {
        let size = cluster.map_or(1, |number: u32| sizes[number as usize]);
        let glosh = if cluster.is_none() { *score } else { 0.0 };
        (count.real() / size.real()).ln() + glosh
    });
    Ok(Clusters {
        anomaly: anomaly.collect(),
        cluster,
        sizes,
    })
}
