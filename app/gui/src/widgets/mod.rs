//! Widgets, one per file, and the formatting of numbers.

mod cause_sign;
mod focus_ring;
mod grid_cursor;
mod header;
mod key_button;
mod label_buttons;
mod legend;
mod number;
mod phrases;
mod pointer_card;
pub(crate) mod table;

pub use callgrove_model::thousands;
pub(crate) use cause_sign::{SIGN_WIDTH, paint_kind, paint_role};
pub use focus_ring::focus_ring;
pub(crate) use grid_cursor::move_by_arrows;
pub use header::view_header;
pub(crate) use header::{
    PictureHeader, begin_picture, header_fact, in_picture, picture_fact, picture_title,
};
pub use key_button::KeyButton;
pub(crate) use label_buttons::label_buttons;
pub(crate) use legend::{LegendItem, LegendMark, ViewNotes, legend_ui};
pub use number::{count_of, score_text};
pub(crate) use phrases::phrases_ui;
pub(crate) use pointer_card::{pointer_card, pointer_card_of};
