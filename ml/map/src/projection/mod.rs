//! Two-dimensional maps of the trees.
//!
//! * Directly: classical multidimensional scaling (Torgerson 1952) of landmarks, with the other trees placed by their
//!   distances to the landmarks (de Silva and Tenenbaum 2004), or by pivots (Brandes and Pich 2006). With all trees
//!   as landmarks or pivots both are plain classical scaling.
//! * Better distances: [`Smacof`] reduces the stress of a map step by step.
//! * Better neighbourhoods: [`Tsne`].
//!
//! The last two are objects that a caller steps, so that the map can be shown while it forms. [`trustworthiness`],
//! [`neighbours_preserved`] and [`kruskal_stress`] measure how far a map can be trusted.
//!
//! ```
//! use callgrove_trees::Progress;
//! use callgrove_trees::dataset::{DenseRows, Rows};
//! use callgrove_map::projection::{Tsne, TsneParams};
//!
//! let values = (0..300).map(|place| f64::from(place * place % 17)).collect();
//! let rows = Rows::Dense(DenseRows::new(3, values)?);
//! let params = TsneParams::default().check()?;
//! let mut map = Tsne::from_rows(&rows, params, 1, Progress::none())?;
//! while map.iteration() < 10 {
//!     map.step(); // and show map.points()
//! }
//! assert_eq!(map.points().len(), 100);
//! # Ok::<(), callgrove_trees::MlError>(())
//! ```

mod eigen;
mod mds;
mod params;
mod pivot;
mod points;
mod quality;
mod smacof;
mod tsne;

pub use mds::{Map, landmark_mds, mds_with_landmarks};
pub use params::{MdsParams, ValidMdsParams};
pub use pivot::{mds_with_pivots, pivot_mds};
pub use quality::{kruskal_stress, neighbours_preserved, trustworthiness, trustworthiness_sampled};
pub use smacof::Smacof;
pub use tsne::{Affinities, Tsne, TsneParams, ValidTsneParams, place_new, tsne_start};
