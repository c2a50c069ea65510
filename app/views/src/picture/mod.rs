//! Views as pictures: drawn by the code of the window, without a window.
//!
//! ```text
//!  session ── draw ──┐                       ┌─ title, facts
//!                    ├─ page: frames of ─────┼─ the view, without controls ──▶ shapes ──▶ DrawnPicture: SVG, PNG
//!  window ─── shown ─┘  one view on a sheet  └─ legend
//! ```

mod draw;
mod error;
mod page;
mod select;
mod sheet;
mod shown;
#[cfg(test)]
mod tests;
mod wanted;

pub use draw::draw_view;
pub use error::PictureError;
pub use sheet::DrawnPicture;
pub use shown::{draw_shown, draw_snapshot};
pub use wanted::{PictureSubject, ViewPicture};
