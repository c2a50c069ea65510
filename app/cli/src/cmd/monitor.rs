//! `callgrove monitor`: watches a run in a window.

use std::sync::Arc;

use anyhow::Result;
use callgrove_provdb::{AccessMode, OpenOptions};
use callgrove_pserver::MonotonicClock;
use callgrove_server::api::{Api, Live, router};
use callgrove_server::hub::Hub;
use callgrove_server::{RunningServer, ServerConfig, past};

use super::pserver::documents;
use crate::args::MonitorArgs;
use crate::connect::{open_store, secret};
use crate::window;

pub(crate) fn run(args: &MonitorArgs) -> Result<()> {
    let ca_file = args.connect.ca.ca_file.clone();
    if args.url.starts_with("http://") || args.url.starts_with("https://") {
        return window::watch(&args.url, secret(&args.connect)?, ca_file);
    }
    // A database on this machine, of a run that may be over: served to the window alone.
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let mut store = open_store(&args.url, &options)?;
    let now_ms = MonotonicClock::new().now_ms();
    let hub = Arc::new(Hub::new(now_ms));
    hub.publish(&past::packet(store.as_mut(), now_ms)?);
    hub.end();
    drop(store);
    let api = Api {
        live: Live::Published(hub),
        documents: Some(documents(&args.url, &options)),
    };
    let config = ServerConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerConfig::default()
    };
    let server = RunningServer::start(config, || router(api))?;
    let shown = window::watch(server.url(), None, ca_file);
    server.stop()?;
    shown
}
