//! Frames of the window as files: SVG, and PNG with the feature `png`.
//!
//! Both are made from the shapes that egui collects in a frame, so a picture shows what the screen shows.
//!
//! ```text
//!                      ┌─ svg ── elements, text, mesh ── XML
//!  shapes of a frame ──┤
//!                      └─ tessellated by egui ── pixels ── PNG
//! ```
//!
//! The same shapes give the same bytes: numbers have a fixed precision, and no clock or system font is used.

mod elements;
mod error;
#[cfg(feature = "png")]
mod font_atlas;
mod mesh;
mod number;
#[cfg(feature = "png")]
mod pixels;
mod svg;
mod text;

pub use error::PaintError;
#[cfg(feature = "png")]
pub use font_atlas::FontAtlas;
#[cfg(feature = "png")]
pub use pixels::{PixelPage, write_png};
pub use svg::{SvgPage, write_svg};
