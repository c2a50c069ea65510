//! The plan of a block: the kind of each tree.

use std::collections::BTreeMap;

use callgrove_model::Label;
use rand::Rng;

/// Number of ranks of every forest.
pub const NUM_RANKS: usize = 16;
/// Number of steps that share a plan.
pub(super) const STEPS_PER_BLOCK: usize = 362;
/// Steps between two outputs.
const OUTPUT_EVERY: usize = 90;
/// Steps between two rebuilds of the neighbour lists.
const REBUILD_EVERY: usize = 20;
/// Side of the square of ranks that exchange with their neighbours.
const SIDE: usize = 4;

/// The kind of a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Normal, like nearly all trees.
    Normal,
    /// The first tree of its rank, with set-up: rare by design.
    Init,
    /// Rebuilds neighbour lists: every 20th step.
    Rebuild,
    /// Writes output, several times longer: every 90th step.
    Output,
    /// Anomalous: waits milliseconds, together with neighbours.
    DelayObvious,
    /// Anomalous: waits some hundred microseconds.
    DelaySubtle,
    /// Anomalous: 60 additional tiny calls, on most ranks in some steps.
    ClusterBig,
    /// Anomalous: 10 additional tiny calls, on some ranks in some steps.
    ClusterSmall,
    /// Anomalous: a message is sent again or never unpacked.
    Path,
    /// Anomalous: a slow root function.
    Late,
}

impl Kind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Init => "init",
            Self::Rebuild => "rebuild",
            Self::Output => "output",
            Self::DelayObvious => "delay_obvious",
            Self::DelaySubtle => "delay_subtle",
            Self::ClusterBig => "cluster_big",
            Self::ClusterSmall => "cluster_small",
            Self::Path => "path",
            Self::Late => "late",
        }
    }

    /// Returns its label.
    pub fn label(self) -> Label {
        match self {
            Self::Normal | Self::Init | Self::Rebuild | Self::Output => Label::Normal,
            _ => Label::Abnormal,
        }
    }
}

/// The anomalies of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// By step of the block and rank.
    anomalies: BTreeMap<(usize, usize), Kind>,
}

impl Plan {
    /// Draws a plan; a shorter block gets fewer anomalies.
    pub(super) fn draw(rng: &mut impl Rng, num_steps: usize) -> Self {
        let mut plan = Self::default();
        let num_steps = num_steps.min(STEPS_PER_BLOCK);
        // Never anomalous: the first steps, and those that are rare by design.
        let usual: Vec<usize> = (4..num_steps)
            .filter(|step| step % REBUILD_EVERY != 0 && step % OUTPUT_EVERY != 0)
            .collect();
        if usual.is_empty() {
            return plan;
        }
        let share = |num: usize| (num * num_steps).div_ceil(STEPS_PER_BLOCK);
        for (kind, num) in [(Kind::DelayObvious, 6), (Kind::DelaySubtle, 4)] {
            for _ in 0..share(num) {
                plan.add_chain(rng, kind, &usual);
            }
        }
        for (kind, num, chance) in [(Kind::ClusterBig, 40, 0.85), (Kind::ClusterSmall, 16, 0.6)] {
            plan.add_cluster(rng, kind, share(num), chance, &usual);
        }
        for (kind, num) in [(Kind::Path, 12), (Kind::Late, 8)] {
            for _ in 0..share(num) {
                let place = (draw_step(rng, &usual), rng.random_range(0..NUM_RANKS));
                plan.anomalies.entry(place).or_insert(kind);
            }
        }
        plan
    }

    /// Returns the kind of the tree of a rank in a step (counted over all blocks).
    pub(super) fn kind(&self, step: usize, rank: usize) -> Kind {
        let of_plan = self.anomalies.get(&(step % STEPS_PER_BLOCK, rank));
        match of_plan {
            Some(&kind) => kind,
            None if step == 0 => Kind::Init,
            None if step.is_multiple_of(OUTPUT_EVERY) => Kind::Output,
            None if step.is_multiple_of(REBUILD_EVERY) => Kind::Rebuild,
            None => Kind::Normal,
        }
    }

    /// Adds ranks that wait for each other: a walk over neighbours.
    fn add_chain(&mut self, rng: &mut impl Rng, kind: Kind, usual: &[usize]) {
        let step = draw_step(rng, usual);
        let mut rank = rng.random_range(0..NUM_RANKS);
        for _ in 0..rng.random_range(3..6_u32) {
            self.anomalies.entry((step, rank)).or_insert(kind);
            let by = [1, NUM_RANKS - 1, SIDE, NUM_RANKS - SIDE][rng.random_range(0..4_usize)];
            rank = (rank + by) % NUM_RANKS;
        }
    }

    /// Adds most ranks in consecutive steps, until there are `num` of the kind.
    fn add_cluster(
        &mut self,
        rng: &mut impl Rng,
        kind: Kind,
        num: usize,
        chance: f64,
        usual: &[usize],
    ) {
        let first = rng.random_range(0..usual.len());
        let mut num_added = 0;
        for &step in usual.iter().cycle().skip(first).take(usual.len()) {
            for rank in 0..NUM_RANKS {
                let is_free = !self.anomalies.contains_key(&(step, rank));
                if num_added < num && is_free && rng.random_bool(chance) {
                    self.anomalies.insert((step, rank), kind);
                    num_added += 1;
                }
            }
        }
    }
}

fn draw_step(rng: &mut impl Rng, usual: &[usize]) -> usize {
    usual[rng.random_range(0..usual.len())]
}
