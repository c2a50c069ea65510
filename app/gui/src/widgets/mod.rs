//! Own widgets, one per file, and how numbers are written.

mod header;
mod key_button;
mod number;
mod code_link;

pub use code_link::code_link;
pub use header::view_header;
pub use key_button::KeyButton;
pub use number::{count_of, score_text, thousands};
