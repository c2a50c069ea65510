//! Where the session's engine runs: in the page's own thread, a piece of work between two frames.

use std::sync::mpsc::{Receiver, sync_channel};

use callgrove_session::{Command, Engine, Host, LearnSettings, SessionHandle, SnapshotCell, Wake};

/// Commands that may wait; a person does not type that fast.
const MAX_WAITING: usize = 4096;
/// Seed of everything random, as on the desktop: the same run gives the same picture.
const SEED: u64 = 1;

/// Runs an engine for one page.
pub struct Carrier {
    engine: Engine,
    commands: Receiver<Command>,
}

impl Carrier {
    /// An engine over `host`; `wake` is called after each of its snapshots. The handle is for the views.
    pub fn start(host: Box<dyn Host>, wake: Wake) -> (SessionHandle, Self) {
        let (sender, commands) = sync_channel(MAX_WAITING);
        let cell = SnapshotCell::default();
        let engine = Engine::new(host, LearnSettings::with_seed(SEED), cell.clone(), wake);
        (SessionHandle::new(sender, cell), Self { engine, commands })
    }

    /// Carries out the oldest command, or else goes on with the map that forms. Whether there was anything to do.
    pub fn work(&mut self) -> bool {
        if let Ok(command) = self.commands.try_recv() {
            self.engine.handle(command);
            return true;
        }
        let is_forming = self.engine.is_forming();
        if is_forming {
            self.engine.advance();
        }
        is_forming
    }
}
