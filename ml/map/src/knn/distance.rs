//! The distance of two rows, value by value.

use std::cmp::Ordering;

use wide::f64x4;

use callgrove_trees::dataset::RowRef;

/// Returns the squared Euclidean distance Σ (a − b)²: 0 for equal rows, and symmetric. Columns that only one row has
/// count as zero on the other.
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

/// Returns the distance of dense rows, from eight partial sums that are added in a fixed order.
fn dense(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_tail) = a.as_chunks::<8>();
    let (b, b_tail) = b.as_chunks::<8>();
    let (mut low, mut high) = (f64x4::ZERO, f64x4::ZERO);
    for (a, b) in a.iter().zip(b) {
        let difference =
            f64x4::new([a[0], a[1], a[2], a[3]]) - f64x4::new([b[0], b[1], b[2], b[3]]);
        low += difference * difference;
        let difference =
            f64x4::new([a[4], a[5], a[6], a[7]]) - f64x4::new([b[4], b[5], b[6], b[7]]);
        high += difference * difference;
    }
    let mut sum: f64 = (low + high).to_array().iter().sum();
    for (a, b) in a_tail.iter().zip(b_tail) {
        sum += (a - b) * (a - b);
    }
    sum
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
