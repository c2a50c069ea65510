//! Plants anomalies into normal trees.

use std::collections::BTreeSet;

use callgrove_model::FuncId;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::draft::{Draft, NameMedians, log_normal};

/// Number of trees per anomaly of each kind.
const TREES_PER_ANOMALY: usize = 100;
/// Minimum depth at which an unusual path starts.
const MIN_DEPTH: usize = 2;
/// Minimum number of vertices of a slow subtree.
const MIN_SLOW: f64 = 3.0;

/// A planted anomaly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Planted {
    /// One vertex is 8 to 20 times as heavy.
    Heavy,
    /// All vertices of one subtree are 3 to 8 times as heavy.
    Slow,
    /// One path deep in the tree is unusual: it starts with a function that never occurs there, or nowhere else.
    Path,
    /// A part that such trees always have is missing.
    Missing,
}

impl Planted {
    /// All kinds, in order.
    pub const ALL: [Self; 4] = [Self::Heavy, Self::Slow, Self::Path, Self::Missing];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heavy => "heavy",
            Self::Slow => "slow",
            Self::Path => "path",
            Self::Missing => "missing",
        }
    }
}

/// Plants the number of anomalies of each kind that the number of trees allows; no tree gets two. Returns the kind of
/// each tree.
pub(super) fn plant(
    rng: &mut ChaCha8Rng,
    words: &mut NameMedians,
    drafts: &mut [Draft],
) -> Vec<Option<Planted>> {
    let child_counts = ChildCounts::of(drafts, words.len());
    let mut planted: Vec<Option<Planted>> = vec![None; drafts.len()];
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    // The kinds that fit into few trees come first.
    for kind in Planted::ALL.into_iter().rev() {
        order.shuffle(rng);
        let mut num_missing = drafts.len() / TREES_PER_ANOMALY;
        for &tree in &order {
            if num_missing == 0 {
                break;
            }
            let is_done = planted[tree].is_none() && {
                let draft = &mut drafts[tree];
                match kind {
                    Planted::Heavy => make_heavy(rng, draft),
                    Planted::Slow => slow_down(rng, draft),
                    Planted::Path => add_path(rng, draft, words, &child_counts),
                    Planted::Missing => remove_part(rng, draft),
                }
                .is_some()
            };
            if is_done {
                planted[tree] = Some(kind);
                num_missing -= 1;
            }
        }
    }
    planted
}

/// Makes one vertex heavy, drawn in proportion to its usual weight.
fn make_heavy(rng: &mut ChaCha8Rng, draft: &mut Draft) -> Option<()> {
    let vertex = pick(rng, &draft.usual)?;
    draft.own[vertex] *= rng.random_range(8.0..20.0);
    Some(())
}

/// Slows down a subtree of at most half of the tree, drawn in proportion to its usual weight.
fn slow_down(rng: &mut ChaCha8Rng, draft: &mut Draft) -> Option<()> {
    let sizes = draft.subtree_sums(&vec![1.0; draft.len()]);
    let mut chances = draft.subtree_sums(&draft.usual);
    for (chance, &size) in chances.iter_mut().zip(&sizes) {
        if size < MIN_SLOW || size > sizes[0] / 2.0 {
            *chance = 0.0;
        }
    }
    let top = pick(rng, &chances)?;
    let factor = rng.random_range(3.0..8.0);
    let is_below = draft.is_below(top);
    for (own, is_below) in draft.own.iter_mut().zip(is_below) {
        if is_below {
            *own *= factor;
        }
    }
    Some(())
}

/// Adds a path of one to three vertices in the lower half of the tree. Its first vertex is a function that never occurs
/// below that parent, or a new function; the following ones are usual there.
fn add_path(
    rng: &mut ChaCha8Rng,
    draft: &mut Draft,
    words: &mut NameMedians,
    child_counts: &ChildCounts,
) -> Option<()> {
    let depths = draft.depths();
    let height = depths.iter().max().copied().unwrap_or(0);
    let least = (height / 2).max(MIN_DEPTH);
    let is_deep = |&depth: &usize| if depth >= least { 1.0 } else { 0.0 };
    let above = pick(rng, &depths.iter().map(is_deep).collect::<Vec<f64>>())?;
    let load = draft.usual[above] / words.median(draft.func[above]);
    let mut func = if rng.random_bool(0.5) {
        let name = format!("unheard_of_{}", words.len());
        words.intern(&name, words.median(draft.func[above]))
    } else {
        child_counts.unusual_child(rng, draft.func[above])?
    };
    let mut below = above;
    for _ in 0..rng.random_range(1..=3_u32) {
        let usual = words.median(func) * load;
        below = draft.push(Some(below), func, usual * log_normal(rng, 0.3), usual);
        let Some(next) = child_counts.usual_child(rng, func) else {
            break;
        };
        func = next;
    }
    Some(())
}

/// Removes a part that its parent always has.
fn remove_part(rng: &mut ChaCha8Rng, draft: &mut Draft) -> Option<()> {
    let chances: Vec<f64> = draft.is_part.iter().map(|&is| f64::from(is)).collect();
    let part = pick(rng, &chances)?;
    draft.remove(part);
    Some(())
}

/// How often functions occur, and below which others, in normal trees.
struct ChildCounts {
    /// The number of occurrences of each function.
    counts: Vec<f64>,
    pairs: BTreeSet<(FuncId, FuncId)>,
}

impl ChildCounts {
    fn of(drafts: &[Draft], num_words: usize) -> Self {
        let mut child_counts = Self {
            counts: vec![0.0; num_words],
            pairs: BTreeSet::new(),
        };
        for draft in drafts {
            for vertex in 0..draft.len() {
                child_counts.counts[draft.func[vertex].index()] += 1.0;
                if let Some(parent) = draft.parent_of(vertex) {
                    child_counts
                        .pairs
                        .insert((draft.func[parent], draft.func[vertex]));
                }
            }
        }
        child_counts
    }

    /// Draws a function that never occurs below `above`, in proportion to its occurrences elsewhere.
    fn unusual_child(&self, rng: &mut ChaCha8Rng, above: FuncId) -> Option<FuncId> {
        self.pick(rng, |func| !self.pairs.contains(&(above, func)))
    }

    fn usual_child(&self, rng: &mut ChaCha8Rng, above: FuncId) -> Option<FuncId> {
        self.pick(rng, |func| self.pairs.contains(&(above, func)))
    }

    fn pick(&self, rng: &mut ChaCha8Rng, is_wanted: impl Fn(FuncId) -> bool) -> Option<FuncId> {
        let counts = self.counts.iter().zip(0..);
        let chances = counts.map(
            |(&count, func)| {
                if is_wanted(FuncId(func)) { count } else { 0.0 }
            },
        );
        let picked = pick(rng, &chances.collect::<Vec<f64>>())?;
        Some(FuncId(picked as u32))
    }
}

/// Draws an index in proportion to its number; `None` if all are 0.
pub(super) fn pick(rng: &mut ChaCha8Rng, chances: &[f64]) -> Option<usize> {
    let total: f64 = chances.iter().sum();
    let mut rest = rng.random::<f64>() * total;
    let mut picked = None;
    for (place, &chance) in chances.iter().enumerate() {
        if chance > 0.0 {
            picked = Some(place);
            rest -= chance;
            if rest < 0.0 {
                break;
            }
        }
    }
    picked
}
