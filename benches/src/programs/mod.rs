//! Simulated parallel programs with injected anomalies and counterfactual truth: the same run is simulated again
//! without the injections, and each execution of the root function is compared with its twin.
//!
//! Each program is written in a global order in which a message is sent before it is received. So a clock for each lane
//! is enough: a receive ends at the later of both clocks, a collective at the latest of all. Random numbers belong to a
//! lane and an execution of the root function, so that twins draw the same ones regardless of earlier injections.

mod all;
mod bulk_synchronous;
mod dataflow;
mod injection;
mod lane;
mod program;
mod regular;
mod simulation;
mod truth;
mod within_node;

pub use all::PROGRAMS;
pub use program::{SimulatedProgram, SimulatedRun};
pub use truth::{KINDS, STRUCTURE};
