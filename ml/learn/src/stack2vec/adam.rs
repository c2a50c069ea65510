//! ADAM (Kingma and Ba 2014).

use pulp::{Simd, WithSimd};

/// Decay rate of the first moment.
const BETA_1: f32 = 0.9;
/// Decay rate of the second moment.
const BETA_2: f32 = 0.999;
/// Term that keeps the divisor of a step above 0.
const EPSILON: f32 = 1e-8;

/// Running moments of the gradient of a block of parameters.
#[derive(Clone, Debug)]
pub(super) struct GradientMoments {
    first: Vec<f32>,
    second: Vec<f32>,
}

/// Correction of the step for moments that start at 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct BiasCorrection {
    decayed_1: f32,
    decayed_2: f32,
}

impl GradientMoments {
    pub(super) fn new(num_values: usize) -> Self {
        Self {
            first: vec![0.0; num_values],
            second: vec![0.0; num_values],
        }
    }

    /// Returns the moments, for [`step`].
    pub(super) fn as_mut(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.first, &mut self.second)
    }
}

impl BiasCorrection {
    pub(super) fn new() -> Self {
        Self {
            decayed_1: 1.0,
            decayed_2: 1.0,
        }
    }

    /// Returns the size of the next step. Powers are computed by one multiplication a step: `powi` may round
    /// differently from call to call.
    pub(super) fn next(&mut self, learning_rate: f32) -> f32 {
        self.decayed_1 *= BETA_1;
        self.decayed_2 *= BETA_2;
        learning_rate * (1.0 - self.decayed_2).sqrt() / (1.0 - self.decayed_1)
    }
}

/// Computes values −= step of gradient + decay · values; all slices have the same length.
pub(super) fn step(
    values: &mut [f32],
    (first, second): (&mut [f32], &mut [f32]),
    gradient: &[f32],
    decay: f32,
    size: f32,
) {
    pulp::Arch::new().dispatch(Step {
        values,
        first,
        second,
        gradient,
        decay,
        size,
    });
}

/// A step, which pulp compiles per vector width.
struct Step<'a> {
    values: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradient: &'a [f32],
    decay: f32,
    size: f32,
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let moments = self.first.iter_mut().zip(self.second);
        for ((value, (first, second)), gradient) in
            self.values.iter_mut().zip(moments).zip(self.gradient)
        {
            let slope = gradient + self.decay * *value;
            *first = BETA_1 * *first + (1.0 - BETA_1) * slope;
            *second = BETA_2 * *second + (1.0 - BETA_2) * slope * slope;
            *value -= self.size * *first / (second.sqrt() + EPSILON);
        }
    }
}
