//! Two-dimensional maps of the trees.
//!
//! Classical multidimensional scaling (Torgerson 1952) of landmarks, and the other trees placed by
//! their distances to the landmarks (de Silva and Tenenbaum 2004). With all trees as landmarks it is
//! plain classical scaling.

mod eigen;
mod mds;
mod params;
mod quality;

pub use mds::{Map, landmark_mds, mds_with_landmarks};
pub use params::{MdsParams, ValidMdsParams};
pub use quality::{trustworthiness, trustworthiness_sampled};
