//! The user's commands: the table of all actions, the keys, and the names of views and layouts.
//!
//! [`Action`]s are started by menus, keys, the palette, views and panels; the application carries them out.

mod actions;
mod export_texts;
mod file_purpose;
mod keymap;
mod layout_name;
mod picture_view;
mod view;
mod window_table;

pub(crate) use actions::{ACTIONS, Action, Entry, Menu};
pub use file_purpose::{FilePurpose, ReportScope};
pub(crate) use keymap::{KeyMap, any_pressed};
pub(crate) use layout_name::LayoutName;
pub use picture_view::PictureView;
pub(crate) use view::View;
pub use window_table::WindowTable;
