//! Generated executions of functions with known outliers.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The distribution of a function's times around its typical time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    /// One mode, by the standard deviation of the logarithm.
    Lognormal(f64),
    /// Several modes, each 10 % wide: share and factor.
    Modes(&'static [(f64, f64)]),
    /// Waiting times for this many arrivals.
    Gamma(u32),
    /// Any value between 1 and 3.
    Uniform,
    /// All equal.
    Constant,
}

const SHAPES: [Shape; 10] = [
    Shape::Lognormal(0.1),
    Shape::Lognormal(0.3),
    Shape::Modes(&[(0.7, 1.0), (0.3, 2.0)]),
    Shape::Modes(&[(0.8, 1.0), (0.17, 3.0), (0.03, 8.0)]),
    Shape::Gamma(4),
    Shape::Lognormal(0.05),
    Shape::Lognormal(0.6),
    Shape::Uniform,
    Shape::Modes(&[(0.5, 1.0), (0.5, 10.0)]),
    Shape::Constant,
];

impl Shape {
    /// Returns the largest typical factor.
    fn top(self) -> f64 {
        match self {
            Self::Modes(modes) => modes.iter().map(|mode| mode.1).fold(0.0, f64::max),
            Self::Uniform => 3.0,
            _ => 1.0,
        }
    }

    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Lognormal(sigma) => (sigma * normal(rng)).exp(),
            Self::Modes(modes) => {
                let mut at = rng.random::<f64>();
                let chosen = modes.iter().find(|mode| {
                    at -= mode.0;
                    at < 0.0
                });
                chosen.unwrap_or(&modes[0]).1 * (0.1 * normal(rng)).exp()
            }
            Self::Gamma(arrivals) => {
                let waits = (0..arrivals).map(|_| -(1.0 - rng.random::<f64>()).ln());
                waits.sum::<f64>() / f64::from(arrivals)
            }
            Self::Uniform => 1.0 + 2.0 * rng.random::<f64>(),
            Self::Constant => 1.0,
        }
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// The executions of one function, in the order of the run.
pub(crate) struct Calls {
    pub(crate) times_us: Vec<u64>,
    pub(crate) is_outlier: Vec<bool>,
}

/// Returns `num_funcs` functions of `num_calls` executions each. A share `rate` of them takes 4 to 40 times as long as
/// the longest mode of the function. Typical times range from 8 µs to 8 s.
pub(crate) fn calls(num_funcs: usize, num_calls: usize, rate: f64, seed: u64) -> Vec<Calls> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..num_funcs)
        .map(|func| {
            let shape = SHAPES[func % SHAPES.len()];
            let typical = 8.0 * 10_f64.powf(6.0 * func as f64 / num_funcs as f64);
            let is_outlier: Vec<bool> =
                (0..num_calls).map(|_| rng.random::<f64>() < rate).collect();
            let draw = |&is_outlier: &bool| {
                let factor = if is_outlier {
                    shape.top() * 4.0 * 10_f64.powf(rng.random::<f64>())
                } else {
                    shape.draw(&mut rng)
                };
                (typical * factor).round().max(1.0) as u64
            };
            Calls {
                times_us: is_outlier.iter().map(draw).collect(),
                is_outlier,
            }
        })
        .collect()
}
