//! ADAM (Kingma and Ba 2014), one step for a block of parameters.

use rayon::prelude::*;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
const VALUES_PER_TASK: usize = 1 << 14;

/// Running moments of the gradient of a block of parameters.
#[derive(Clone, Debug)]
pub(super) struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
}

/// Sizes of the steps: learning rate and the correction for moments that began at 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepSizes {
    learning_rate: f32,
    decayed_1: f32,
    decayed_2: f32,
}

/// The size of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepSize(f32);

impl StepSizes {
    pub(super) fn new(learning_rate: f32) -> Self {
        Self {
            learning_rate,
            decayed_1: 1.0,
            decayed_2: 1.0,
        }
    }

    /// The size of the next step. Powers are built up one factor a step: `powi` may round
    /// differently from call to call.
    pub(super) fn next(&mut self) -> StepSize {
        self.decayed_1 *= BETA_1;
        self.decayed_2 *= BETA_2;
        let correction = (1.0 - self.decayed_2).sqrt() / (1.0 - self.decayed_1);
        StepSize(self.learning_rate * correction)
    }
}

impl Adam {
    pub(super) fn new(num_values: usize) -> Self {
        Self {
            first: vec![0.0; num_values],
            second: vec![0.0; num_values],
        }
    }

    /// values −= step of gradient + decay · values.
    pub(super) fn step(
        &mut self,
        values: &mut [f32],
        gradient: &[f32],
        decay: f32,
        size: StepSize,
    ) {
        values
            .par_chunks_mut(VALUES_PER_TASK)
            .zip(gradient.par_chunks(VALUES_PER_TASK))
            .zip(self.first.par_chunks_mut(VALUES_PER_TASK))
            .zip(self.second.par_chunks_mut(VALUES_PER_TASK))
            .for_each(|(((values, gradient), first), second)| {
                for place in 0..values.len() {
                    let slope = gradient[place] + decay * values[place];
                    first[place] = BETA_1 * first[place] + (1.0 - BETA_1) * slope;
                    second[place] = BETA_2 * second[place] + (1.0 - BETA_2) * slope * slope;
                    values[place] -= size.0 * first[place] / (second[place].sqrt() + EPSILON);
                }
            });
    }
}
