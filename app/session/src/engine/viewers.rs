//! The viewers of the session: their commands, selections and names.

use std::sync::Arc;

use super::Engine;
use super::error::CommandError;
use super::executor::Executor;
use crate::command::Command;
use crate::snapshot::ViewerState;
use crate::viewer::{Presence, ViewerId, viewer_name};

impl Engine {
    /// Carries out a viewer's command, with that viewer's selection, name and files.
    pub(super) fn carry_out_for(
        &mut self,
        viewer: ViewerId,
        number: u64,
        command: Command,
    ) -> Result<(), CommandError> {
        self.executor.set_viewer(Some(viewer));
        let done = match command {
            Command::Select(selection) => self.select_for(viewer, selection),
            Command::ForViewer { .. } | Command::Viewer { .. } => Ok(()),
            command => self.carry_out(command),
        };
        self.executor.set_viewer(None);
        self.executor.viewer_state(viewer).carried_out = number;
        done
    }

    /// Updates the connection state of a viewer.
    pub(super) fn set_presence(&mut self, viewer: ViewerId, presence: Presence) {
        match presence {
            Presence::Connected { name } => {
                let state = self.executor.viewer_state(viewer);
                state.name = viewer_name(&name).or_else(|| state.name.take());
                state.is_connected = true;
            }
            Presence::Lost => self.executor.viewer_state(viewer).is_connected = false,
            Presence::Gone => {
                Arc::make_mut(&mut self.executor.publisher.view.viewers.states).remove(&viewer);
            }
        }
    }
}

impl Executor {
    /// Sets the viewer whose commands are carried out from now on; `None` means no particular viewer.
    fn set_viewer(&mut self, viewer: Option<ViewerId>) {
        self.host.set_viewer(viewer);
        self.viewer = viewer;
    }

    fn viewer_state(&mut self, viewer: ViewerId) -> &mut ViewerState {
        let viewer_states = Arc::make_mut(&mut self.publisher.view.viewers.states);
        viewer_states.entry(viewer).or_default()
    }

    /// Sets the name of the user whose command is carried out. An invalid name is ignored.
    pub(super) fn set_name(&mut self, name: &str) {
        let Some(name) = viewer_name(name) else {
            return;
        };
        match self.viewer {
            Some(viewer) => self.viewer_state(viewer).name = Some(name),
            None => self.publisher.view.viewers.name = Some(name),
        }
    }

    /// Returns the name of the user whose command is carried out, if known.
    pub(super) fn user(&self) -> Option<String> {
        let view = &self.publisher.view;
        let state = self
            .viewer
            .and_then(|viewer| view.viewers.states.get(&viewer));
        let own = state.and_then(|state| state.name.as_deref());
        own.or(view.viewers.name.as_deref()).map(str::to_owned)
    }
}
