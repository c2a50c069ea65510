//! The overlays over the views: help, palette, go-to box, dialogs. One at a time.

use super::help::Help;
use super::picker::Picker;
use crate::panels::PathDialog;

/// An overlay.
pub(super) enum Overlay {
    Help(Help),
    Palette(Picker),
    GoTo(Picker),
    Path(PathDialog),
    Connect,
}
