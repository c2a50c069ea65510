//! Parts of Callgrove's views: colours and fonts, texts, small controls.
//!
//! Each module uses only those below it:
//!
//! ```text
//! legend, header, table, …   controls, one per file
//! delay, text                descriptions and numbers as text
//! hover                      the tree under the pointer, in all views
//! theme                      colours and fonts
//! ```

mod cause_sign;
pub mod delay;
mod focus_ring;
mod grid_cursor;
mod header;
pub mod hover;
mod key_button;
mod label_buttons;
mod legend;
mod number;
mod phrases;
mod pointer_card;
pub mod table;
pub mod text;
pub mod theme;

pub use cause_sign::{SIGN_WIDTH, paint_kind, paint_role};
pub use focus_ring::focus_ring;
pub use grid_cursor::move_by_arrows;
pub use header::view_header;
pub use header::{
    PictureHeader, begin_picture, header_fact, in_picture, picture_fact, picture_title,
};
pub use key_button::KeyButton;
pub use label_buttons::label_buttons;
pub use legend::{LegendItem, LegendMark, ViewNotes, legend_ui};
pub use number::score_text;
pub use phrases::phrases_ui;
pub use pointer_card::{pointer_card, pointer_card_of};
