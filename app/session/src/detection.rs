//! Scores become a list, and two lists become what a training changed.

use callgrove_ml::detector::{Cause, Detector, listed_scores, order_by_score};
use callgrove_model::TreeIdx;

use crate::{Change, Detection, Move};

/// How far down the list moves are worth telling.
const TOP: usize = 50;
/// How many moves are told.
const NUM_MOVES: usize = 10;

impl Detection {
    /// Orders trees by `scores`, ties by tree, but those whose abnormal score has a known cause behind the other
    /// abnormal ones; compares with the list before. `scores` and `causes` have shape `[n_trees]`.
    pub fn new(scores: Vec<f64>, causes: Vec<Option<Cause>>, before: Option<&Self>) -> Self {
        let listed = listed_scores(&scores, &causes);
        let order = order_by_score(&listed);
        let mut place = vec![0; scores.len()];
        for (at, tree) in order.iter().enumerate() {
            place[tree.index()] = at as u32;
        }
        let is_abnormal = |score: &&f64| Detector::is_abnormal(**score);
        let mut detection = Self {
            num_abnormal: listed.iter().filter(is_abnormal).count(),
            num_explained: causes.iter().flatten().count(),
            scores,
            causes,
            order,
            place,
            change: None,
        };
        detection.change = before
            .filter(|before| before.scores.len() == detection.scores.len())
            .map(|before| Change::between(before, &detection));
        detection
    }

    /// Whether a tree is called abnormal: it has a negative score, and no cause that explains it.
    pub fn is_abnormal(&self, tree: TreeIdx) -> bool {
        self.cause(tree).is_none()
            && self
                .scores
                .get(tree.index())
                .is_some_and(|&score| Detector::is_abnormal(score))
    }

    /// What explains the negative score of a tree.
    pub fn cause(&self, tree: TreeIdx) -> Option<Cause> {
        self.causes.get(tree.index()).copied().flatten()
    }
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
            (before.place[tree.index()].min(now.place[tree.index()]) as usize) < TOP
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

    #[test]
    fn ties_within_rounding_are_ordered_by_tree() {
        let detection = Detection::new(vec![1e-12, -0.5, -1e-12, f64::NAN], vec![None; 4], None);
        assert_eq!(detection.order, trees(&[1, 0, 2, 3]));
        assert_eq!(detection.place, [1, 0, 2, 3]);
        assert_eq!(detection.num_abnormal, 1);
    }

    #[test]
    fn what_is_explained_stands_behind_the_abnormal_and_is_none_of_them() {
        let causes = vec![Some(Cause::TraceWrite), None, None, None];
        let detection = Detection::new(vec![-9.0, -0.5, 0.1, -2.0], causes, None);
        assert_eq!(detection.order, trees(&[3, 1, 0, 2]));
        assert_eq!((detection.num_abnormal, detection.num_explained), (2, 1));
        assert!(!detection.is_abnormal(TreeIdx(0)));
        assert_eq!(detection.cause(TreeIdx(0)), Some(Cause::TraceWrite));
    }

    #[test]
    fn a_training_tells_who_crossed_and_who_moved() {
        let before = Detection::new(vec![-1.0, -0.5, 0.5], vec![None; 3], None);
        let now = Detection::new(vec![0.2, -0.5, -0.7], vec![None; 3], Some(&before));
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
