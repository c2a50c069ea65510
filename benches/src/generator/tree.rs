//! The generation of one tree.

use std::f64::consts::TAU;

use callgrove_model::FuncId;
use rand::Rng;

use super::plan::{Kind, NUM_RANKS};

/// A generated tree; its lists are reused for the next one.
#[derive(Clone, PartialEq, Debug)]
pub struct MadeTree {
    /// Number of the tree, from 0 in order of step and rank.
    pub id: u32,
    /// Rank.
    pub rank: u32,
    /// Entry of the root.
    pub entry_ns: i64,
    /// Its kind.
    pub kind: Kind,
    /// Parent of each vertex in pre-order; -1 for the root.
    pub parent: Vec<i64>,
    /// Function of each vertex: an index into [`FUNCTIONS`].
    pub func: Vec<FuncId>,
    /// Inclusive time of each vertex.
    pub inclusive_ns: Vec<i64>,
}

/// Functions of the program; the first is that of the roots.
pub const FUNCTIONS: [&str; 20] = [
    "compute",
    "density",
    "force",
    "forward_comm",
    "reverse_comm",
    "pack",
    "unpack",
    "MPI_Irecv",
    "MPI_Send",
    "MPI_Wait",
    "MPI_Test",
    "ev_setup",
    "ev_tally",
    "neighbor_build",
    "bin_atoms",
    "malloc",
    "init_comm",
    "MPI_Barrier",
    "thermo_output",
    "flush",
];

#[derive(Clone, Copy)]
#[repr(u32)]
enum Func {
    Compute,
    Density,
    Force,
    ForwardComm,
    ReverseComm,
    Pack,
    Unpack,
    Irecv,
    Send,
    Wait,
    Test,
    EvSetup,
    EvTally,
    NeighborBuild,
    BinAtoms,
    Malloc,
    InitComm,
    Barrier,
    ThermoOutput,
    Flush,
}

impl Func {
    /// Returns the median of its exclusive time in microseconds, and the standard deviation of the logarithm.
    fn usual(self) -> (f64, f64) {
        match self {
            Self::Compute => (30.0, 0.2),
            Self::Density => (420.0, 0.06),
            Self::Force => (610.0, 0.06),
            Self::ForwardComm | Self::ReverseComm => (6.0, 0.2),
            Self::Pack | Self::Unpack => (3.0, 0.22),
            Self::Irecv => (1.4, 0.22),
            Self::Send => (7.0, 0.35),
            Self::Wait => (14.0, 0.55),
            Self::Test => (0.9, 0.22),
            Self::EvSetup => (2.0, 0.22),
            Self::EvTally => (0.8, 0.22),
            Self::NeighborBuild => (250.0, 0.1),
            Self::BinAtoms => (55.0, 0.22),
            Self::Malloc => (25.0, 0.6),
            Self::InitComm => (60.0, 0.2),
            Self::Barrier => (900.0, 0.5),
            Self::ThermoOutput => (120.0, 0.2),
            Self::Flush => (40.0, 0.8),
        }
    }
}

/// The size of the trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// As in the paper's first case: four exchanges with six to eight partners, 150 calls.
    Full,
    /// Two exchanges with one or two partners, 20 calls: for very many trees.
    Small,
}

/// Generates trees one after the other, in reused lists.
pub(super) struct TreeMaker {
    shape: Shape,
    num_partners: [usize; NUM_RANKS],
    /// Load factor of each rank, and of the whole machine in this step.
    load: [f64; NUM_RANKS],
    step_load: f64,
    spare_normal: Option<f64>,
    waits: Vec<usize>,
    own_us: Vec<f64>,
    tree: MadeTree,
}

impl TreeMaker {
    pub(super) fn new(shape: Shape, rng: &mut impl Rng) -> Self {
        let (few, many) = match shape {
            Shape::Full => (6, 8),
            Shape::Small => (1, 2),
        };
        let mut maker = Self {
            shape,
            num_partners: std::array::from_fn(|_| rng.random_range(few..=many)),
            load: [1.0; NUM_RANKS],
            step_load: 1.0,
            spare_normal: None,
            waits: Vec::new(),
            own_us: Vec::new(),
            tree: MadeTree {
                id: 0,
                rank: 0,
                entry_ns: 0,
                kind: Kind::Normal,
                parent: Vec::new(),
                func: Vec::new(),
                inclusive_ns: Vec::new(),
            },
        };
        for rank in 0..NUM_RANKS {
            maker.load[rank] = maker.log_normal(rng, 0.12);
        }
        maker
    }

    pub(super) fn begin_step(&mut self, rng: &mut impl Rng) {
        self.step_load = self.log_normal(rng, 0.1);
    }

    pub(super) fn make(
        &mut self,
        rng: &mut impl Rng,
        id: usize,
        step: usize,
        kind: Kind,
        entry_ns: i64,
    ) -> &MadeTree {
        let rank = id % NUM_RANKS;
        self.tree.parent.clear();
        self.tree.func.clear();
        self.own_us.clear();
        self.waits.clear();
        let root = self.call(rng, None, Func::Compute, 1.0);
        if kind == Kind::Late {
            self.own_us[root] += rng.random_range(500.0..1_600.0);
        }
        self.rare_by_design(rng, root, kind);
        self.call(rng, Some(root), Func::EvSetup, 1.0);
        let load = self.load[rank];
        let density = self.call(rng, Some(root), Func::Density, load);
        self.exchange(rng, density, Func::ReverseComm, rank, Kind::Normal);
        if self.shape == Shape::Full {
            let force = self.call(rng, Some(root), Func::Force, load);
            self.exchange(rng, force, Func::ForwardComm, rank, kind);
            for _ in 0..if rng.random_bool(0.994) { 1 } else { 2 } {
                self.exchange(rng, force, Func::ForwardComm, rank, Kind::Normal);
            }
        }
        let path = if self.shape == Shape::Small {
            kind
        } else {
            Kind::Normal
        };
        self.exchange(rng, root, Func::ForwardComm, rank, path);
        for _ in 0..num_tallies(rng, step, kind) {
            self.call(rng, Some(root), Func::EvTally, 1.0);
        }
        if rng.random_bool(0.004) {
            self.call(rng, Some(root), Func::Flush, 1.0);
        }
        self.delay(rng, root, kind);
        (self.tree.id, self.tree.rank) = (id as u32, rank as u32);
        (self.tree.kind, self.tree.entry_ns) = (kind, entry_ns);
        self.sum_up();
        &self.tree
    }

    fn rare_by_design(&mut self, rng: &mut impl Rng, root: usize, kind: Kind) {
        match kind {
            Kind::Init => {
                let init = self.call(rng, Some(root), Func::InitComm, 1.0);
                for _ in 0..rng.random_range(6..10_u32) {
                    self.call(rng, Some(init), Func::Malloc, 3.0);
                }
                self.call(rng, Some(root), Func::Barrier, 2.0);
            }
            Kind::Output => {
                let output = self.call(rng, Some(root), Func::ThermoOutput, 1.0);
                self.call(rng, Some(output), Func::Barrier, 2.0);
                self.call(rng, Some(output), Func::Barrier, 1.0);
                if rng.random_bool(0.4) {
                    self.call(rng, Some(output), Func::Flush, 1.0);
                }
            }
            Kind::Rebuild => {
                let build = self.call(rng, Some(root), Func::NeighborBuild, self.step_load);
                for _ in 0..rng.random_range(2..4_u32) {
                    self.call(rng, Some(build), Func::BinAtoms, 1.0);
                }
                self.call(rng, Some(build), Func::Malloc, 1.0);
            }
            _ => {}
        }
    }

    /// Exchanges messages with all partners. Waits in the reverse exchange are long by design.
    fn exchange(&mut self, rng: &mut impl Rng, caller: usize, func: Func, rank: usize, kind: Kind) {
        let comm = self.call(rng, Some(caller), func, 1.0);
        let load = self.load[rank] * self.step_load;
        let wait_load = if matches!(func, Func::ReverseComm) {
            3.5 * load
        } else {
            load
        };
        let is_lost = kind == Kind::Path && rng.random_bool(0.5);
        let num_resent = if kind == Kind::Path && !is_lost {
            rng.random_range(3..9)
        } else {
            0
        };
        for partner in 0..self.num_partners[rank] {
            self.call(rng, Some(comm), Func::Pack, 1.0);
            self.call(rng, Some(comm), Func::Irecv, 1.0);
            for _ in 0..=if partner == 0 { num_resent } else { 0 } {
                self.call(rng, Some(comm), Func::Send, load);
            }
            let wait = self.call(rng, Some(comm), Func::Wait, wait_load);
            self.waits.push(wait);
            if rng.random_bool(0.0006) {
                self.call(rng, Some(wait), Func::Flush, 1.0);
            }
            if rng.random_bool(0.03) {
                self.call(rng, Some(comm), Func::Test, 1.0);
            }
            if !(is_lost && partner == 0) {
                self.call(rng, Some(comm), Func::Unpack, 1.0);
            }
        }
    }

    /// Adds longer waits at up to three vertices.
    fn delay(&mut self, rng: &mut impl Rng, root: usize, kind: Kind) {
        let (median_us, deviation) = match kind {
            Kind::DelayObvious => (6_000.0, 0.5),
            Kind::DelaySubtle => (420.0, 0.35),
            _ => return,
        };
        for _ in 0..rng.random_range(1..4_u32) {
            let wait = self.waits[rng.random_range(0..self.waits.len())];
            self.own_us[wait] += median_us * self.log_normal(rng, deviation);
        }
        if kind == Kind::DelayObvious && rng.random_bool(0.5) {
            self.call(rng, Some(root), Func::Flush, 100.0);
        }
    }

    /// Appends a call; calls are generated in pre-order.
    fn call(
        &mut self,
        rng: &mut impl Rng,
        caller: Option<usize>,
        func: Func,
        factor: f64,
    ) -> usize {
        let (median_us, deviation) = func.usual();
        // The operating system interrupts occasionally, which is normal.
        let jitter = if rng.random_bool(2e-4) {
            rng.random_range(3.0..8.0)
        } else {
            1.0
        };
        let own_us = median_us * factor * jitter * self.log_normal(rng, deviation);
        self.tree
            .parent
            .push(caller.map_or(-1, |caller| caller as i64));
        self.tree.func.push(FuncId(func as u32));
        self.own_us.push(own_us);
        self.own_us.len() - 1
    }

    fn sum_up(&mut self) {
        let tree = &mut self.tree;
        tree.inclusive_ns.clear();
        let own_ns = self.own_us.iter().map(|us| ((us * 1_000.0) as i64).max(1));
        tree.inclusive_ns.extend(own_ns);
        for vertex in (1..tree.parent.len()).rev() {
            tree.inclusive_ns[tree.parent[vertex] as usize] += tree.inclusive_ns[vertex];
        }
    }

    /// Returns exp of a normal number with this deviation; the Box–Muller transform gives them in pairs.
    fn log_normal(&mut self, rng: &mut impl Rng, deviation: f64) -> f64 {
        let normal = self.spare_normal.take().unwrap_or_else(|| {
            let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
            let (sin, cos) = (TAU * rng.random::<f64>()).sin_cos();
            self.spare_normal = Some(radius * sin);
            radius * cos
        });
        (deviation * normal).exp()
    }
}

/// Returns the number of tiny calls: it depends on the step, and is much larger in clusters.
fn num_tallies(rng: &mut impl Rng, step: usize, kind: Kind) -> usize {
    let usual = match step % 6 {
        0 => 8,
        odd if odd % 2 == 1 => 4,
        _ => 6,
    };
    usual
        + match kind {
            Kind::ClusterBig => rng.random_range(60..64),
            Kind::ClusterSmall => rng.random_range(9..12),
            _ => 0,
        }
}
