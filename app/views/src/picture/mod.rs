//! Views as pictures: drawn by the code of the window, without a window.
//!
//! ```text
//!  session ── draw ──┐                       ┌─ title, facts
//!                    ├─ page: frames of ─────┼─ the view, without controls ──▶ shapes ──▶ DrawnPicture: SVG, PNG
//!  window ─── shown ─┘  one view on a sheet  └─ legend
//! ```

mod draw;
mod error;
mod of_snapshot;
mod offscreen;
mod page;
mod picture_request;
mod select;
#[cfg(test)]
mod tests;

pub use draw::draw_view;
pub use error::PictureError;
pub use of_snapshot::{draw_shown, draw_snapshot};
pub use offscreen::DrawnPicture;
pub use picture_request::{PictureSubject, ViewPicture};
