//! The desktop window: the session runs on a thread of its own, the views on the main thread.

use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail};
use callgrove_gui::{CallgroveApp, Platform, stored_window_size};
use callgrove_pipeline::{ServerAccess, follow_job};
use callgrove_server::client::RemoteSession;
use callgrove_session::{Session, UserCommand, Wake};
use callgrove_watch::WatchCommand;
use eframe::egui;

use crate::host::NativeHost;
use crate::platform::NativePlatform;
use callgrove_headless::default_folder;
use callgrove_headless::start_engine;

/// Initial size of the window, in points.
const SIZE: [f32; 2] = [1600.0, 1000.0];

/// Opens a window, sends `commands` to its session, and returns when it is closed.
pub(crate) fn show(commands: Vec<UserCommand>, access: ServerAccess) -> Result<()> {
    check_display()?;
    let context = egui::Context::default();
    let wake: Wake = {
        let context = context.clone();
        Arc::new(move || context.request_repaint())
    };
    if let [UserCommand::Watch(WatchCommand::Connect { address, .. })] = &commands[..]
        && let Some(session) = remote_session(address, &access, &wake)?
    {
        return show_app(context, session);
    }
    let host = NativeHost::new(default_folder()).with_access(access.clone());
    let host = Box::new(host);
    let engine = start_engine(host, Arc::clone(&wake))?;
    let watch = follow_job(access, wake)?;
    let mut session = Session::new(engine, Some(watch));
    for command in commands {
        session.send(command);
    }
    show_app(context, session)
}

/// Returns the session that a server offers to pages and windows; `None` if the address has none.
fn remote_session(address: &str, access: &ServerAccess, wake: &Wake) -> Result<Option<Session>> {
    let Some(client) = access.server(address)? else {
        return Ok(None);
    };
    // A running job is watched directly, so that its trace on this machine can be opened as well. A server that does
    // not answer is reported in the window, and contacted again.
    if client.health().map_or(true, |health| health.live) {
        return Ok(None);
    }
    let Some(served) = client.session().unwrap_or_default() else {
        return Ok(None);
    };
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let key = since_epoch.map_or(0, |since| since.as_nanos() as u64);
    let name = std::env::var("USER").ok();
    let (handle, mut remote) = RemoteSession::new(&client, &served, key, name, Arc::clone(wake))?;
    let watch = served.watched.is_some().then(|| remote.link().watch());
    thread::Builder::new()
        .name("remote session".to_owned())
        .spawn(move || remote.run())
        .context("cannot start the thread of the session")?;
    let mut session = Session::new(handle, watch);
    if let Some(address) = served.watched {
        let token = None;
        session.send(WatchCommand::Connect { address, token });
    }
    Ok(Some(session))
}

fn show_app(context: egui::Context, session: Session) -> Result<()> {
    let platform = NativePlatform::new();
    let stored = platform.load_preferences();
    let size = stored.and_then(|text| stored_window_size(&text));
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("Callgrove")
            .with_app_id("callgrove")
            .with_inner_size(size.unwrap_or(SIZE))
            .with_clamp_size_to_monitor_size(true)
            .with_min_inner_size([900.0, 600.0]),
        ..Default::default()
    };
    let app = move |creation: &eframe::CreationContext<'_>| {
        let app = CallgroveApp::new(creation, session, Box::new(platform));
        Ok(Box::new(app) as Box<dyn eframe::App>)
    };
    eframe::run_native_ext("callgrove", options, Some(context), Box::new(app)).map_err(|error| {
        anyhow!(
            "could not open the window ({error}); on a machine without OpenGL, set LIBGL_ALWAYS_SOFTWARE=1"
        )
    })
}

fn check_display() -> Result<()> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "linux") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        bail!(
            "no display: neither DISPLAY nor WAYLAND_DISPLAY is set. Run it on a desktop, or log in with `ssh -X`; \
             `callgrove analyze`, `info`, `run` and `query` need no display"
        );
    }
    Ok(())
}
