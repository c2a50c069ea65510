//! The distance of two rows, value by value.

use std::cmp::Ordering;

use crate::dataset::RowRef;

/// Squared Euclidean distance Σ (a − b)²: 0 for equal rows, the same from both sides. Columns that
/// only one row has count as zero on the other.
pub(crate) fn squared_distance(a: RowRef<'_>, b: RowRef<'_>) -> f64 {
    match (a, b) {
        (RowRef::Dense(a), RowRef::Dense(b)) if a.len() == b.len() => dense(a, b),
        (RowRef::Sparse(columns, values), RowRef::Sparse(other_columns, other_values)) => {
            sparse((columns, values), (other_columns, other_values))
        }
        _ => {
            let (a, b) = (a.to_sparse(), b.to_sparse());
            sparse((&a.columns, &a.values), (&b.columns, &b.values))
        }
    }
}

/// Eight sums side by side, added up in a fixed order.
fn dense(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let tail: f64 = tail.map(|(a, b)| (a - b) * (a - b)).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    sums.iter().sum::<f64>() + tail
}

fn sparse(a: (&[u32], &[f64]), b: (&[u32], &[f64])) -> f64 {
    let (mut at, mut other_at, mut sum) = (0, 0, 0.0);
    while at < a.0.len() || other_at < b.0.len() {
        let column = a.0.get(at).copied().unwrap_or(u32::MAX);
        let other = b.0.get(other_at).copied().unwrap_or(u32::MAX);
        let (mut difference, order) = (0.0, column.cmp(&other));
        if order != Ordering::Greater {
            difference += a.1.get(at).copied().unwrap_or(0.0);
            at += 1;
        }
        if order != Ordering::Less {
            difference -= b.1.get(other_at).copied().unwrap_or(0.0);
            other_at += 1;
        }
        sum += difference * difference;
    }
    sum
}
