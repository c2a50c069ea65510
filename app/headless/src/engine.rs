//! The session's engine on a thread of its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result};
use callgrove_session::{Engine, Host, LearnSettings, SessionHandle, SnapshotCell, Wake};

/// Maximum number of commands that wait while long work runs; no user types that fast.
const MAX_WAITING: usize = 4096;
/// Seed of all random numbers, so that the same trace gives the same result.
const SEED: u64 = 1;

/// Starts an engine with `host`. The engine ends with the last handle; `wake` is called after each snapshot.
///
/// # Errors
/// The system starts no thread.
pub fn start_engine(host: Box<dyn Host>, wake: Wake) -> Result<SessionHandle> {
    let (sender, commands) = sync_channel(MAX_WAITING);
    let cell = SnapshotCell::default();
    let handle = SessionHandle::new(sender, cell.clone());
    std::thread::Builder::new()
        .name("session".to_owned())
        .spawn(move || {
            let settings = LearnSettings::with_seed(SEED);
            let engine = Engine::new(host, settings, cell.clone(), Arc::clone(&wake));
            // After a panic the engine is dropped, and only the cell is used.
            let run = AssertUnwindSafe(|| engine.run(&commands));
            if let Err(panic) = catch_unwind(run) {
                cell.end(&panic_message(&*panic));
                wake();
            }
        })
        .context("cannot start the session")?;
    Ok(handle)
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}
