//! Exact nearest neighbours of every row.

use callgrove_model::Progress;

use crate::dataset::Rows;
use crate::error::Result;
use crate::knn::nearest;

pub(super) struct Neighbours {
    pub(super) per_row: Vec<Vec<(usize, f64)>>,
}

pub(super) fn all_nearest(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Neighbours> {
    let mut per_row = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        progress.at(row as f32 / rows.len() as f32)?;
        per_row.push(nearest(rows, row, k, |_| true));
    }
    Ok(Neighbours { per_row })
}
