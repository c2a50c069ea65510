//! The page, and the sessions that pages look at.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use callgrove_server::Router;
use callgrove_server::page::{self, PageError, PageFile};
use callgrove_server::view::{self, ViewedSession, WatchedRun};
use callgrove_session::Command;
use callgrove_session::wire::{ViewerHost, Viewers};
use tokio::sync::watch;

use crate::follow::{self, Reach};
use crate::host::NativeHost;
use crate::{engine, journal_file};

/// Name, brotli form and gzip form of each file of the page; none if the program was built without it.
const PAGE: &[(&str, &[u8], &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The files of the page.
pub(crate) fn files() -> Vec<PageFile> {
    let files = PAGE.iter().map(|(name, brotli, gzip)| PageFile {
        name: (*name).to_owned(),
        brotli: (*brotli).into(),
        gzip: (*gzip).into(),
    });
    files.collect()
}

/// Whether the program was built with the page.
pub(crate) fn is_built() -> bool {
    !PAGE.is_empty()
}

/// The page, and the way to the session that it looks at.
pub(crate) fn routes(session: Option<ViewedSession>) -> Result<Router, PageError> {
    let page = page::router(files())?;
    Ok(match session {
        None => page,
        Some(session) => view::announce(page, &session).merge(view::router(session)),
    })
}

/// The page of a run that this program watches itself, if the program has a page.
pub(crate) fn routes_of_run(reach: Reach) -> Result<Router> {
    if !is_built() {
        return Ok(Router::new());
    }
    let own = reach.own.as_ref().map(|(address, _)| address.clone());
    let watched = own.map(|address| (address, reach));
    Ok(routes(Some(session(None, watched)?))?)
}

/// A run that each page watches for itself.
fn watched(address: String, reach: Reach) -> WatchedRun {
    WatchedRun {
        address,
        dial: Arc::new(move |wake| {
            let line = follow::start(reach.clone(), wake);
            line.map_err(|error| format!("{error:#}"))
        }),
    }
}

/// A session that opens a source at once, whoever comes to look at it, and may watch a run.
pub(crate) fn session(
    open: Option<(&str, Command)>,
    watched: Option<(String, Reach)>,
) -> Result<ViewedSession> {
    let viewers = Viewers::default();
    let mut host = NativeHost::new(journal_file::default_folder());
    if let Some((_, reach)) = &watched {
        host = host.reaching(reach.clone());
    }
    let source = open.as_ref().map_or("", |(source, _)| source);
    let job = watched.as_ref().map(|(address, _)| address.clone());
    let host = ViewerHost::new(host, viewers.clone(), source.to_owned()).watching(job);
    let (tell, news) = watch::channel(());
    let session = engine::start(
        Box::new(host),
        Arc::new(move || {
            tell.send_replace(());
        }),
    )?;
    if let Some((_, open)) = open
        && session.send(open).is_err()
    {
        bail!("the session has ended before it began");
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(ViewedSession {
        session,
        news,
        viewers,
        life: since_epoch.map_or(0, |since| since.as_nanos() as u64),
        watched: watched.map(|(address, reach)| self::watched(address, reach)),
    })
}
