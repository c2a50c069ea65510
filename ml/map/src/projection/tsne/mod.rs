//! t-SNE: a map on which near neighbours stay near.

mod affinities;
mod attraction;
mod exact;
mod model;
mod params;
mod placement;
mod quadtree;
mod repulsion;

pub use affinities::Affinities;
pub use model::{Tsne, tsne_start};
pub use params::{TsneParams, ValidTsneParams};
pub use placement::place_new;
