//! Anchors: rows that represent others, if there are too many to train on all.

use callgrove_trees::dataset::Rows;
use callgrove_trees::real::{Real, whole};

/// Maximum number of different rows that a training uses directly; beyond it, anchors represent them.
const MAX_ROWS: usize = 20_000;
/// Maximum number of anchors.
const NUM_ANCHORS: usize = 4_096;

/// A weighted coreset: the rows that the training uses, each with the weight of those it represents.
///
/// The support vectors of Eq. 1 are the outermost rows that make up the share ν of all weight, and ρ is the value of
/// f at the end of that share. Rows further in have α = 0 and matter only by their weight. So rows are ordered by
/// their distance from the weighted mean and divided into groups, narrow ones far out and wide ones further in: with
/// t the share of the weight that is further out, the cuts are evenly spaced in ln(t + ν), which puts some 15 % of
/// the anchors into the outermost share ν = 0.01, and a group there has a thousandth of that share. The row at the
/// middle of a group's weight is its anchor. Outer rows whose weight is nearly 0 share one group with many others.
///
/// Nothing is drawn at random. The anchors depend on rows and weights alone, so those of the unlabelled forest are
/// valid for all labels. The difference of the scores from the exact ones is in `ml/README.md`.
///
/// Cost: rows × (columns + ln rows).
#[derive(Clone, Debug)]
pub struct Anchors {
    /// The anchor of each row, shape `[n_rows]`.
    anchor_of: Vec<u32>,
    /// Row of each anchor.
    row_of: Vec<u32>,
}

impl Anchors {
    /// Returns anchors of `rows` with `weights` ≥ 0 (both `[n_rows]`) for a training with C = ν · sum of the weights;
    /// `None` for 20,000 different rows or fewer, which need none.
    pub fn needed(rows: &Rows, weights: &[f64], nu: f64) -> Option<Self> {
        if rows.len() <= MAX_ROWS {
            return None;
        }
        let first_equal = rows.first_equal();
        let is_first = |(row, first): (usize, usize)| row == first;
        let num_distinct = first_equal
            .into_iter()
            .enumerate()
            .filter(|&it| is_first(it));
        (num_distinct.count() > MAX_ROWS).then(|| Self::choose(rows, weights, nu, NUM_ANCHORS))
    }

    /// Returns at most `num_wanted` anchors of `rows`, however many there are; if all weights are 0, the first row
    /// alone.
    pub fn choose(rows: &Rows, weights: &[f64], nu: f64, num_wanted: usize) -> Self {
        let total: f64 = weights.iter().sum();
        let order = outermost_first(rows, weights, total);
        let spacing = num_wanted.real() / (1.0 / nu).ln_1p();
        let mut anchors = Self {
            anchor_of: vec![0; rows.len()],
            row_of: Vec::with_capacity(num_wanted),
        };
        let mut outside = 0.0;
        let mut group: Vec<usize> = Vec::new();
        let (mut group_cut, mut group_weight) = (0, 0.0);
        for row in order {
            let share = (outside + 0.5 * weights[row]) / total;
            let cut = whole(spacing * (share / nu).ln_1p());
            if cut != group_cut && group_weight > 0.0 {
                anchors.add(&group, group_weight, weights);
                group.clear();
                group_weight = 0.0;
            }
            group_cut = cut;
            group.push(row);
            group_weight += weights[row];
            outside += weights[row];
        }
        if !group.is_empty() {
            anchors.add(&group, group_weight, weights);
        }
        anchors
    }

    /// Returns the number of anchors.
    pub fn len(&self) -> usize {
        self.row_of.len()
    }

    /// Returns whether there are no anchors, because there are no rows.
    pub fn is_empty(&self) -> bool {
        self.row_of.is_empty()
    }

    /// Adds an anchor: the one of these rows at the middle of their weight.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows are counted in 32 bits"
    )]
    fn add(&mut self, group: &[usize], group_weight: f64, weights: &[f64]) {
        let anchor = self.row_of.len() as u32;
        let mut before = 0.0;
        let middle = group.iter().position(|&row| {
            before += weights[row];
            before > 0.5 * group_weight
        });
        self.row_of.push(group[middle.unwrap_or(0)] as u32);
        for &row in group {
            self.anchor_of[row] = anchor;
        }
    }

    /// Returns the rows that a training uses: the anchors, then `apart`.
    pub(super) fn seen(&self, apart: &[usize]) -> Vec<usize> {
        let anchors = self.row_of.iter().map(|&row| row as usize);
        anchors.chain(apart.iter().copied()).collect()
    }

    /// Returns the index of each row among the rows that a training uses; the rows `apart` represent themselves.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows are counted in 32 bits"
    )]
    pub(super) fn indices(&self, apart: &[usize]) -> Vec<u32> {
        let mut indices = self.anchor_of.clone();
        for (index, &row) in apart.iter().enumerate() {
            indices[row] = (self.len() + index) as u32;
        }
        indices
    }
}

/// Returns rows by their distance from the weighted mean, the largest first; equally distant ones by row.
fn outermost_first(rows: &Rows, weights: &[f64], total: f64) -> Vec<usize> {
    let mut mean = vec![0.0; rows.num_columns()];
    for (row, weight) in weights.iter().enumerate().filter(|it| *it.1 > 0.0) {
        for (column, value) in rows.row(row).entries() {
            mean[column] += weight / total * value;
        }
    }
    let norms = rows.squared_norms();
    let distance = |row: usize| {
        let entries = rows.row(row).entries();
        norms[row]
            - 2.0
                * entries
                    .map(|(column, value)| value * mean[column])
                    .sum::<f64>()
    };
    let distances: Vec<f64> = (0..rows.len()).map(distance).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by(|&a, &b| distances[b].total_cmp(&distances[a]).then(a.cmp(&b)));
    order
}
