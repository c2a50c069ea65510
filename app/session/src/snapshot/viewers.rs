//! The part of a snapshot that concerns the viewers of the session.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::forest::Explanation;
use crate::command::Selection;
use crate::viewer::{PresentViewer, ViewerId};

/// The user who sees a snapshot, and the other viewers of the session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ViewersSnapshot {
    /// Name of the user who sees this, if known.
    pub name: Option<Arc<str>>,
    /// Number of the viewer's newest command that was carried out; 0 if viewers are not distinguished.
    pub carried_out: u64,
    /// The connected viewers, including the one that sees this; empty if viewers are not distinguished.
    pub present: Arc<[PresentViewer]>,
    /// State of each viewer, if several viewers do not share the selection.
    #[serde(skip)]
    pub states: Arc<BTreeMap<ViewerId, ViewerState>>,
}

/// The state of one viewer.
#[derive(Clone, Debug, Default)]
pub struct ViewerState {
    /// The selection, and why the focused tree got its score; `None` until the viewer selects something in the forest
    /// that is shown.
    pub selected: Option<(Selection, Option<Arc<Explanation>>)>,
    /// [`ViewersSnapshot::carried_out`].
    pub carried_out: u64,
    /// Name of the viewer.
    pub name: Option<Arc<str>>,
    /// True if it is connected.
    pub is_connected: bool,
}

impl ViewersSnapshot {
    /// Returns the names of the connected viewers as `viewer` sees them. Viewers without a name are omitted.
    pub(super) fn present_for(&self, viewer: ViewerId) -> Arc<[PresentViewer]> {
        let connected = self.states.iter().filter(|(_, state)| state.is_connected);
        let named = connected.filter_map(|(id, state)| {
            let name = state.name.clone()?;
            let is_you = *id == viewer;
            Some(PresentViewer { name, is_you })
        });
        named.collect()
    }
}
