//! Validation of points.

use callgrove_trees::error::{MlError, Result};

/// Returns an error unless there is one finite point for each row.
pub(super) fn check_points(points: &[[f64; 2]], num_rows: usize) -> Result<()> {
    if points.len() != num_rows {
        return Err(MlError::LengthMismatch {
            what: "points",
            expected: num_rows,
            found: points.len(),
        });
    }
    let is_finite = |point: &[f64; 2]| point.iter().all(|value| value.is_finite());
    match points.iter().position(|point| !is_finite(point)) {
        Some(row) => Err(MlError::BadNumber {
            what: "a point",
            row,
        }),
        None => Ok(()),
    }
}
