//! The page, and the sessions that pages view.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use callgrove_pipeline::{ServerAccess, follow_job};
use callgrove_server::Router;
use callgrove_server::page::{self, PageError, PageFile};
use callgrove_server::view::{self, ViewedSession, WatchedRun};
use callgrove_session::Command;
use callgrove_wire::{ViewerHost, Viewers};
use tokio::sync::watch;

use crate::host::NativeHost;
use callgrove_headless::{default_folder, start_engine};

/// Name, brotli form and gzip form of each file of the page; empty if the program was built without it.
const PAGE: &[(&str, &[u8], &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Returns the files of the page.
pub(crate) fn files() -> Vec<PageFile> {
    let files = PAGE.iter().map(|(name, brotli, gzip)| PageFile {
        name: (*name).to_owned(),
        brotli: (*brotli).into(),
        gzip: (*gzip).into(),
    });
    files.collect()
}

/// Returns whether the program was built with the page.
pub(crate) fn is_built() -> bool {
    !PAGE.is_empty()
}

/// Returns the routes of the page, and of the session that it views.
pub(crate) fn routes(session: Option<ViewedSession>) -> Result<Router, PageError> {
    let page = page::router(files())?;
    Ok(match session {
        None => page,
        Some(session) => view::announce(page, &session).merge(view::router(session)),
    })
}

/// Returns the routes of the page for a run that this process analyses; empty without a page in the program.
pub(crate) fn routes_of_run(access: ServerAccess) -> Result<Router> {
    if !is_built() {
        return Ok(Router::new());
    }
    let own = access.own.as_ref().map(|(address, _)| address.clone());
    let watched = own.map(|address| (address, access));
    Ok(routes(Some(session(None, watched)?))?)
}

/// Returns a run that each page watches over a connection of its own.
fn watched(address: String, access: ServerAccess) -> WatchedRun {
    WatchedRun {
        address,
        dial: Arc::new(move |wake| {
            let watch = follow_job(access.clone(), wake);
            watch.map_err(|error| error.with_causes())
        }),
    }
}

/// Starts a session that opens a source at once, before any viewer connects, and may watch a run.
pub(crate) fn session(
    open: Option<(String, Command)>,
    watched: Option<(String, ServerAccess)>,
) -> Result<ViewedSession> {
    let viewers = Viewers::default();
    let mut host = NativeHost::new(default_folder());
    if let Some((_, access)) = &watched {
        host = host.with_access(access.clone());
    }
    let source = open.as_ref().map_or("", |(source, _)| source.as_str());
    let job = watched.as_ref().map(|(address, _)| address.clone());
    let host = ViewerHost::new(host, viewers.clone(), source.to_owned()).watching(job);
    let (news_sender, news) = watch::channel(());
    let session = start_engine(
        Box::new(host),
        Arc::new(move || {
            news_sender.send_replace(());
        }),
    )?;
    if let Some((_, open)) = open
        && session.send(open).is_err()
    {
        bail!("the session ended during its start");
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(ViewedSession {
        session,
        news,
        viewers,
        epoch: since_epoch.map_or(0, |since| since.as_nanos() as u64),
        watched: watched.map(|(address, access)| self::watched(address, access)),
    })
}
