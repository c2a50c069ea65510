//! The canvas of everything that happened over time: lanes with their calls, and messages between them.
//!
//! One [`LaneCanvas`] shows one trace: a run, or the few calls around a record. It lays out only the
//! rows in view, and those again only when the window leaves the tile that was laid out or the zoom
//! changes by two ([`callgrove_session::layout_lane`]). What is selected, flagged and picked comes
//! in with every frame as [`LaneScene`]; what a person did goes out as [`Done`].

mod axis;
mod cascade;
mod iterations;
mod lanes;
mod layout;
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

pub(crate) use axis::{relative_time, utc_clock};
pub(crate) use iterations::iteration_text;
pub(crate) use lanes::LaneCanvas;
pub(crate) use layout::span;
pub(crate) use names::GUTTER;
pub(crate) use occurrences::MarkedOccurrences;
pub(crate) use scene::{Hovered, LaneScene, RangeChoice, RankChoice, RowWish, UnderlinedCalls};
pub(crate) use tooltip::wait_text;
pub(crate) use window::Window;
pub(crate) use writes::write_legend_ui;
