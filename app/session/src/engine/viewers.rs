//! The viewers of the session: their commands, selections and names.

use std::sync::Arc;

use super::Engine;
use super::executor::Executor;
use super::stop::Stop;
use crate::viewer::{Presence, viewer_name};
use crate::{Command, Look, ViewerId};

impl Engine {
    /// Carries out a viewer's command, with that viewer's selection, name and files.
    pub(super) fn carry_out_for(
        &mut self,
        viewer: ViewerId,
        number: u64,
        command: Command,
    ) -> Result<(), Stop> {
        self.executor.turn_to(Some(viewer));
        let done = match command {
            Command::Select(selection) => self.look(viewer, selection),
            Command::Of { .. } | Command::Viewer { .. } => Ok(()),
            command => self.carry_out(command),
        };
        self.executor.turn_to(None);
        self.executor.look_of(viewer).carried_out = number;
        done
    }

    /// Updates the connection state of a viewer.
    pub(super) fn know_viewer(&mut self, viewer: ViewerId, presence: Presence) {
        match presence {
            Presence::Here { name } => {
                let look = self.executor.look_of(viewer);
                look.name = viewer_name(&name).or_else(|| look.name.take());
                look.is_here = true;
            }
            Presence::Lost => self.executor.look_of(viewer).is_here = false,
            Presence::Gone => {
                Arc::make_mut(&mut self.executor.publisher.view.looks).remove(&viewer);
            }
        }
    }
}

impl Executor {
    /// Sets the viewer whose commands are carried out from now on; `None` means no particular viewer.
    fn turn_to(&mut self, viewer: Option<ViewerId>) {
        self.host.turn_to(viewer);
        self.viewer = viewer;
    }

    fn look_of(&mut self, viewer: ViewerId) -> &mut Look {
        let looks = Arc::make_mut(&mut self.publisher.view.looks);
        looks.entry(viewer).or_default()
    }

    /// Sets the name of the user whose command is carried out. An invalid name is ignored.
    pub(super) fn set_name(&mut self, name: &str) {
        let Some(name) = viewer_name(name) else {
            return;
        };
        match self.viewer {
            Some(viewer) => self.look_of(viewer).name = Some(name),
            None => self.publisher.view.name = Some(name),
        }
    }

    /// Returns the name of the user whose command is carried out, if known.
    pub(super) fn user(&self) -> Option<String> {
        let view = &self.publisher.view;
        let look = self.viewer.and_then(|viewer| view.looks.get(&viewer));
        let own = look.and_then(|look| look.name.as_deref());
        own.or(view.name.as_deref()).map(str::to_owned)
    }
}
