//! Turns scores into a ranked list, and compares the lists before and after a training.

use callgrove_judge::decision::DesignClass;
use callgrove_judge::detector::{Cause, is_alarm, listed_scores, order_by_score};
use callgrove_model::{Label, TreeIdx, thousands};

use crate::learning::TreeScores;
use crate::snapshot::{Change, Detection, Move};

/// Number of top ranks in which moves are reported.
const TOP_RANKS: usize = 50;
/// Largest number of moves that are reported.
const NUM_MOVES: usize = 10;

impl Detection {
    /// Orders trees by their scores, and trees of equal score by index. Abnormal trees with a known cause come after
    /// the other abnormal ones. Compares the list with the one before.
    pub fn new(tree_scores: TreeScores, before: Option<&Self>) -> Self {
        Self::with_held(tree_scores, Vec::new(), before)
    }

    /// Like [`Detection::new`], but a tree with a held label is classified by that label, whatever its score. `held`
    /// has the shape `[n_trees]`, or is empty.
    pub(crate) fn with_held(
        tree_scores: TreeScores,
        held: Vec<Option<Label>>,
        before: Option<&Self>,
    ) -> Self {
        let TreeScores {
            scores,
            abnormal,
            p_values,
            causes,
            design,
            dismissed,
            is_odd: _,
            is_by_label: _,
        } = tree_scores;
        let (mut sided, mut open_causes) = (abnormal.clone(), causes.clone());
        for ((is_abnormal, cause), held) in sided.iter_mut().zip(&mut open_causes).zip(&held) {
            if let Some(held) = held {
                *is_abnormal = *held == Label::Abnormal;
                *cause = None;
            }
        }
        let listed = listed_scores(&scores, &sided, &open_causes);
        let order = order_by_score(&listed);
        let mut place = vec![0; scores.len()];
        for (at, tree) in order.iter().enumerate() {
            place[tree.index()] = at as u32;
        }
        let mut detection = Self {
            num_abnormal: listed.iter().filter(|&&it| is_alarm(it)).count(),
            num_explained: open_causes.iter().flatten().count(),
            held,
            scores,
            abnormal,
            p_values,
            causes,
            design,
            dismissed,
            order,
            place,
            change: None,
        };
        detection.change = before
            .filter(|before| before.scores.len() == detection.scores.len())
            .map(|before| Change::between(before, &detection));
        detection
    }

    /// Returns the share of normal trees that are at least as unusual as this one, in (0, 1]; `None` if there were too
    /// few executions to score any.
    pub fn p_value(&self, tree: TreeIdx) -> Option<f64> {
        self.p_values.as_ref()?.get(tree.index()).copied()
    }

    /// Returns whether a tree is abnormal: the model says so, and no cause explains it. A held label overrides both.
    pub fn is_abnormal(&self, tree: TreeIdx) -> bool {
        if let Some(held) = self.held(tree) {
            return held == Label::Abnormal;
        }
        self.cause(tree).is_none() && self.abnormal.get(tree.index()).is_some_and(|&it| it)
    }

    /// Returns the cause that explains an abnormal tree. A tree with a held label has none.
    pub fn cause(&self, tree: TreeIdx) -> Option<Cause> {
        let cause = self.causes.get(tree.index()).copied().flatten();
        cause.filter(|_| self.held(tree).is_none())
    }

    /// Returns whether a tree is abnormal, or would be if no cause explained it.
    pub fn is_unusual(&self, tree: TreeIdx) -> bool {
        self.is_abnormal(tree) || self.cause(tree).is_some()
    }

    /// Returns why a tree is rare or long by design; `None` if it is not, or if it is abnormal for another reason.
    pub fn by_design(&self, tree: TreeIdx) -> Option<&DesignClass> {
        let class = self.design.of(tree)?;
        (!self.is_unusual(tree)).then_some(class)
    }

    fn held(&self, tree: TreeIdx) -> Option<Label> {
        self.held.get(tree.index()).copied().flatten()
    }
}

/// Returns a p-value as text: one in how many normal trees is at least as unusual. `num_trees` executions show nothing
/// rarer than one among them: below that, a p-value is extrapolated, and the text is a bound.
pub fn rareness_text(p_value: f64, num_trees: usize) -> String {
    let seen = num_trees.max(2) as f64;
    let one_in = 1.0 / p_value.clamp(1e-9, 1.0);
    if one_in > seen {
        // Rounded down, so that the bound is true.
        let digits = two_digits_of(seen);
        let bound = (seen / digits).floor() * digits;
        return format!("under 1 in {}", thousands(bound as u64));
    }
    match one_in {
        0.0..2.0 => "usual".to_owned(),
        2.0..9.5 => format!("1 in {one_in:.0}"),
        _ => {
            // The p-value has two significant digits.
            let digits = two_digits_of(one_in);
            let rounded = ((one_in / digits).round() * digits) as u64;
            format!("1 in {}", thousands(rounded))
        }
    }
}

/// Returns the unit of the second digit of a number.
fn two_digits_of(number: f64) -> f64 {
    10_f64.powf(number.log10().floor() - 1.0)
}

impl Change {
    fn between(before: &Detection, now: &Detection) -> Self {
        let crossed = |was: bool| {
            let of = move |tree: &&TreeIdx| {
                before.is_abnormal(**tree) == was && now.is_abnormal(**tree) != was
            };
            now.order.iter().filter(of).copied().collect()
        };
        let in_top = |tree: &TreeIdx| {
            (before.place[tree.index()].min(now.place[tree.index()]) as usize) < TOP_RANKS
        };
        let mut moves: Vec<Move> = now
            .order
            .iter()
            .filter(|&tree| in_top(tree))
            .map(|&tree| Move {
                tree,
                from: before.place[tree.index()],
                to: now.place[tree.index()],
            })
            .filter(|change| change.from != change.to)
            .collect();
        moves.sort_by_key(|change| {
            (
                std::cmp::Reverse(change.from.abs_diff(change.to)),
                change.to,
            )
        });
        moves.truncate(NUM_MOVES);
        Self {
            became_abnormal: crossed(false),
            became_normal: crossed(true),
            place_before: before.place.clone(),
            moves,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees(indices: &[u32]) -> Vec<TreeIdx> {
        indices.iter().map(|&index| TreeIdx(index)).collect()
    }

    fn tree_scores(scores: &[f64]) -> TreeScores {
        TreeScores {
            scores: scores.to_vec(),
            abnormal: scores.iter().map(|&score| score < -1e-6).collect(),
            p_values: None,
            causes: vec![None; scores.len()],
            ..TreeScores::default()
        }
    }

    #[test]
    fn rareness_has_two_digits() {
        assert_eq!(rareness_text(0.000_01, 196), "under 1 in 190");
        let texts = [0.9, 0.3, 0.0213, 0.000_123, 0.000_01];
        let texts = texts.map(|p_value| rareness_text(p_value, 10_000));
        assert_eq!(
            texts,
            [
                "usual",
                "1 in 3",
                "1 in 47",
                "1 in 8,100",
                "under 1 in 10,000"
            ]
        );
    }

    #[test]
    fn ties_within_rounding_are_ordered_by_tree() {
        let detection = Detection::new(tree_scores(&[1e-12, -0.5, -1e-12, f64::NAN]), None);
        assert_eq!(detection.order, trees(&[1, 0, 2, 3]));
        assert_eq!(detection.place, [1, 0, 2, 3]);
        assert_eq!(detection.num_abnormal, 1);
    }

    #[test]
    fn explained_trees_follow_the_abnormal_ones_and_are_not_counted() {
        let written = TreeScores {
            causes: vec![Some(Cause::TraceWrite), None, None, None],
            ..tree_scores(&[-9.0, -0.5, 0.1, -2.0])
        };
        let detection = Detection::new(written, None);
        assert_eq!(detection.order, trees(&[3, 1, 0, 2]));
        assert_eq!((detection.num_abnormal, detection.num_explained), (2, 1));
        assert!(!detection.is_abnormal(TreeIdx(0)));
        assert_eq!(detection.cause(TreeIdx(0)), Some(Cause::TraceWrite));
    }

    #[test]
    fn a_held_label_moves_its_own_tree_and_no_other() {
        let mut held = vec![None; 4];
        held[1] = Some(Label::Normal);
        held[2] = Some(Label::Abnormal);
        let scores = [-1.0, -3.0, 0.5, 0.25];
        let detection = Detection::with_held(tree_scores(&scores), held, None);
        let abnormal = [0, 1, 2, 3].map(|tree| detection.is_abnormal(TreeIdx(tree)));
        assert_eq!(abnormal, [true, false, true, false]);
        assert_eq!(detection.order, trees(&[0, 2, 1, 3]));
        assert_eq!((detection.num_abnormal, detection.scores[1]), (2, -3.0));
    }

    #[test]
    fn a_training_reports_trees_that_crossed_and_moved() {
        let before = Detection::new(tree_scores(&[-1.0, -0.5, 0.5]), None);
        let now = Detection::new(tree_scores(&[0.2, -0.5, -0.7]), Some(&before));
        let change = now.change.unwrap();
        assert_eq!(change.became_abnormal, trees(&[2]));
        assert_eq!(change.became_normal, trees(&[0]));
        assert_eq!(
            change.moves[0],
            Move {
                tree: TreeIdx(2),
                from: 2,
                to: 0
            }
        );
    }
}
