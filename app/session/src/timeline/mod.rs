//! What the timeline draws: pure, and as much work as there are pixels, not calls.
//!
//! Level of detail: a call narrower than the smallest width is merged with what follows it within
//! that width, and the merged bar says how many calls it stands for. Inside it nothing is drawn, so
//! a window costs O(pixels × depth × log calls) however many calls it spans. Messages are sampled
//! evenly where there are more than anybody could see, and the rest is counted.

mod arrows;
#[cfg(test)]
mod fixture;
mod layout;
mod sweep;

pub use layout::{Arrow, Bar, Row, RowKind, Timeline, TimelineQuery, layout_timeline};
