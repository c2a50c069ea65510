//! The timeline canvas: lanes with their calls, and messages between them.
//!
//! A [`LaneCanvas`] shows one trace: a run, or the few calls around a record. It lays out only the rows in view, and
//! lays them out again only when the window leaves the current tile or the zoom changes by a factor of two
//! ([`callgrove_session::layout_lane`]). The selection, the flags and the picked calls come in with every frame as
//! [`LaneScene`]; user actions go out as [`LaneActions`].

mod axis;
mod cascade;
mod iterations;
mod lanes;
mod layout;
mod legend;
mod names;
mod navigate;
mod occurrences;
mod paint;
mod row_bars;
mod scene;
mod tooltip;
mod ui;
mod underlines;
mod view;
mod window;
mod writes;

pub use axis::{relative_time, utc_clock};
pub use iterations::iteration_text;
pub use lanes::LaneCanvas;
pub use layout::{FlagMark, PlacedRow, span};
pub use names::GUTTER;
pub use occurrences::MarkedOccurrences;
pub use scene::{
    Hovered, LaneActions, LaneScene, RangeChoice, RankChoice, RowRequest, UnderlinedCalls,
};
pub use tooltip::wait_text;
pub use view::TimeView;
pub use window::Window;
pub use writes::write_legend_ui;
