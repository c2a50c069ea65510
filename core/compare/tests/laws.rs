//! Laws of comparisons: on simulated runs without a difference, under permutation of ranks and change of unit, and for
//! known changes.

use callgrove_compare::{
    BlockSample, BlockSeries, ChangeAspect, ChangeSubject, FALSE_DISCOVERIES, IncidentSample,
    PathTable, RunSamples, SideComparison,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUM_BLOCKS: usize = 16;
const NUM_ITERATIONS: usize = 20;
const NUM_PATHS: usize = 20;

/// A process of which a run is a part.
#[derive(Clone, Copy)]
struct Noise {
    /// Correlation of neighbouring iterations, 0 to 1; a random walk at 1.
    correlation: f64,
    /// Correlated noise of an iteration, as a share of the level.
    common: f64,
    /// Independent noise of an iteration, as a share of the level.
    own: f64,
}

/// The iterations of one path, in order of time.
struct Process {
    noise: Noise,
    state: f64,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    // The sum of three has the variance of a quarter.
    2.0 * ((0..3).map(|_| random.random::<f64>()).sum::<f64>() - 1.5)
}

impl Process {
    /// A process that has run for some time.
    fn new(noise: Noise, random: &mut ChaCha8Rng) -> Self {
        let mut process = Self { noise, state: 0.0 };
        for _ in 0..300 {
            process.next_ns(random);
        }
        process
    }

    fn next_ns(&mut self, random: &mut ChaCha8Rng) -> i64 {
        let Noise {
            correlation,
            common,
            own,
        } = self.noise;
        let fresh = (1.0 - correlation * correlation).max(0.001).sqrt();
        self.state = correlation * self.state + fresh * normal(random);
        let level = 1.0 + common * self.state + own * normal(random);
        (100_000.0 * level.max(0.1)) as i64
    }

    fn series(&mut self, random: &mut ChaCha8Rng) -> BlockSeries {
        let mut series = BlockSeries::new(NUM_BLOCKS);
        for block in 0..NUM_BLOCKS {
            let mut calls: Vec<i64> = (0..NUM_ITERATIONS).map(|_| self.next_ns(random)).collect();
            series.add(block, BlockSample::of(&mut calls));
        }
        series
    }
}

fn paths() -> PathTable {
    let mut paths = PathTable::default();
    for at in 0..NUM_PATHS {
        let name = paths.function(&format!("f{at}"));
        paths.call(None, name);
    }
    paths
}

/// Returns a side with a series for each path.
fn side(all: Vec<BlockSeries>) -> RunSamples {
    let mut side = RunSamples {
        iterations_in_block: vec![NUM_ITERATIONS; NUM_BLOCKS],
        num_ranks: 1,
        total_ns: all.iter().map(BlockSeries::total_ns).sum(),
        ..RunSamples::default()
    };
    let mut paths = paths();
    for (at, series) in all.into_iter().enumerate() {
        let name = paths.function(&format!("f{at}"));
        side.work.insert(paths.call(None, name), series);
    }
    side
}

/// Returns the share of pairs of sides without a difference in which something is found.
fn share_with_findings(noise: Noise, are_halves: bool, seed: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (num_pairs, mut num_found) = (100, 0);
    for _ in 0..num_pairs {
        let mut processes: Vec<Process> = (0..NUM_PATHS)
            .map(|_| Process::new(noise, &mut random))
            .collect();
        let mut collect = |is_new: bool| {
            let all = processes.iter_mut().map(|process| {
                if is_new {
                    *process = Process::new(noise, &mut random);
                }
                process.series(&mut random)
            });
            side(all.collect())
        };
        let (before, after) = (collect(false), collect(!are_halves));
        let comparison = SideComparison::new(&paths(), &[&before], &[&after]);
        num_found += u32::from(!comparison.changes.is_empty());
    }
    f64::from(num_found) / f64::from(num_pairs)
}

#[test]
fn runs_without_a_difference_have_no_more_findings_than_stated() {
    for (correlation, common) in [(0.0, 0.0), (0.9, 0.05), (0.99, 0.05)] {
        let noise = Noise {
            correlation,
            common,
            own: 0.05,
        };
        for are_halves in [false, true] {
            let share = share_with_findings(noise, are_halves, 7);
            assert!(
                share <= FALSE_DISCOVERIES,
                "{share} with a correlation of {correlation}, halves: {are_halves}"
            );
        }
    }
}

#[test]
fn halves_of_a_random_walk_do_not_differ_either() {
    let noise = Noise {
        correlation: 1.0,
        common: 0.05,
        own: 0.01,
    };
    let share = share_with_findings(noise, true, 11);
    assert!(share <= FALSE_DISCOVERIES, "{share}");
}

#[test]
fn a_change_above_the_noise_is_found_with_its_figures() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let noise = Noise {
        correlation: 0.9,
        common: 0.02,
        own: 0.05,
    };
    let mut series = |factor: i64| {
        let mut series = BlockSeries::new(NUM_BLOCKS);
        let mut process = Process::new(noise, &mut random);
        for block in 0..NUM_BLOCKS {
            let calls = (0..NUM_ITERATIONS).map(|_| process.next_ns(&mut random) * factor / 10);
            series.add(block, BlockSample::of(&mut calls.collect::<Vec<i64>>()));
        }
        series
    };
    let before = side((0..NUM_PATHS).map(|_| series(10)).collect());
    let after = (0..NUM_PATHS).map(|at| series(if at == 5 { 18 } else { 10 }));
    let after = side(after.collect());
    let comparison = SideComparison::new(&paths(), &[&before], &[&after]);
    let [change] = comparison.changes.as_slice() else {
        panic!("one change: {:?}", comparison.changes);
    };
    assert_eq!(change.aspect, ChangeAspect::Duration);
    let (low, high) = change.interval.unwrap();
    assert!(
        low > 1.6 && low < 1.8 && high > 1.8 && high < 2.0,
        "{change:?}"
    );
    // 80 µs more in each of 320 calls.
    assert!(
        (change.cost_ns / 25_600_000.0 - 1.0).abs() < 0.1,
        "{change:?}"
    );
}

#[test]
fn more_incidents_are_a_finding_and_one_more_is_not() {
    let with = |counts: &[usize]| RunSamples {
        incidents: [(
            "stalled".to_owned(),
            IncidentSample {
                in_block: counts.to_vec(),
                delay_ns: counts.iter().map(|num| *num as i64 * 100_000_000).collect(),
            },
        )]
        .into(),
        ..side(Vec::new())
    };
    let mut single = vec![0; NUM_BLOCKS];
    let none = with(&single);
    single[4] = 1;
    let compare = |before: &RunSamples, after: &RunSamples| {
        let comparison = SideComparison::new(&paths(), &[before], &[after]);
        comparison
            .changes
            .into_iter()
            .map(|it| it.subject)
            .collect::<Vec<_>>()
    };
    assert_eq!(compare(&none, &with(&single)), []);
    let often = with(&[1, 2, 1, 1, 0, 2, 1, 1, 3, 1, 1, 0, 1, 2, 1, 1]);
    let is_found = [ChangeSubject::Incidents("stalled".to_owned())];
    let quiet = RunSamples {
        incidents: [].into(),
        ..none
    };
    assert_eq!(compare(&quiet, &often), is_found);
    // A burst in one block is one disturbance, however large.
    let mut burst = vec![0; NUM_BLOCKS];
    burst[4] = 30;
    assert_eq!(compare(&quiet, &with(&burst)), []);
}

/// Samples of some blocks and ranks.
fn samples() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let block = prop::collection::vec(1_000_i64..2_000, 12);
    prop::collection::vec(block, NUM_BLOCKS)
}

/// Returns a side of four ranks with three calls in each block, with times in a unit.
fn of_ranks(values: &[Vec<i64>], order: [usize; 4], unit_ns: i64) -> RunSamples {
    let mut series = BlockSeries::new(values.len());
    for (block, calls) in values.iter().enumerate() {
        for rank in order {
            let calls = &calls[rank * 3..rank * 3 + 3];
            let mut calls: Vec<i64> = calls.iter().map(|call| call * unit_ns).collect();
            series.add(block, BlockSample::of(&mut calls));
        }
    }
    RunSamples {
        num_ranks: 4,
        ..side(vec![series])
    }
}

proptest! {
    #[test]
    fn the_order_of_ranks_does_not_matter(before in samples(), after in samples()) {
        let compare = |order| {
            let [one, other] = [&before, &after].map(|values| of_ranks(values, order, 1));
            SideComparison::new(&paths(), &[&one], &[&other])
        };
        prop_assert_eq!(compare([0, 1, 2, 3]), compare([3, 1, 0, 2]));
    }

    #[test]
    fn the_unit_of_time_does_not_matter(before in samples(), after in samples(), factor in 1_i64..4) {
        let compare = |unit_ns| {
            let one = of_ranks(&before, [0, 1, 2, 3], unit_ns);
            let other = of_ranks(&after, [0, 1, 2, 3], unit_ns * factor);
            let found = SideComparison::new(&paths(), &[&one], &[&other]);
            let decided = found.changes.into_iter();
            decided.map(|it| (it.subject, it.aspect, it.p_value.to_bits())).collect::<Vec<_>>()
        };
        prop_assert_eq!(compare(1), compare(1_024));
    }

    #[test]
    fn the_other_direction_finds_the_same(before in samples(), after in samples(), factor in 1_i64..4) {
        let one = of_ranks(&before, [0, 1, 2, 3], 1);
        let other = of_ranks(&after, [0, 1, 2, 3], factor);
        let subjects = |before: &RunSamples, after: &RunSamples| {
            let found = SideComparison::new(&paths(), &[before], &[after]);
            found.changes.into_iter().map(|it| (it.subject, it.aspect)).collect::<Vec<_>>()
        };
        prop_assert_eq!(subjects(&one, &other), subjects(&other, &one));
    }
}
