//! Actions of the user, and the context in which a view starts them.
//!
//! [`Action`]s are started by menus, keys, the palette, views and panels; the application carries them out.
//!
//! ```text
//! context         snapshot, theme, commands and actions of a view
//! focus           the focused tree
//! latest_answer   the newest answer to a view's query
//! actions         the table of all actions, by which menus and palette are made
//! user_keys       keys that the user has changed
//! view, …         names of views, layouts, tables and files
//! ```

mod actions;
pub mod context;
mod export_texts;
mod file_purpose;
pub mod focus;
pub mod latest_answer;
mod layout_name;
mod picture_view;
mod user_keys;
mod view;
mod window_table;

pub use actions::{ACTIONS, Action, Entry, Menu};
pub use export_texts::ExportTexts;
pub use file_purpose::{FilePurpose, ReportScope};
pub use layout_name::LayoutName;
pub use picture_view::PictureView;
pub use user_keys::{KeyMap, any_pressed};
pub use view::View;
pub use window_table::WindowTable;
