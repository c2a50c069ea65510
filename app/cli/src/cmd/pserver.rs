//! `callgrove pserver`: joins the models and statistics of all AD instances.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use callgrove_pipeline::{
    InitialStateSettings, ServerAccess, TreeLearner, begin_with_store, documents, initial_state,
    tree_model_registry,
};
use callgrove_provdb::{AccessMode, Store};
use callgrove_pserver::{LEASE_MS, MonotonicClock, ServerState};
use callgrove_pserver_net::{BusServer, ExchangeOptions, Poster, PosterOptions, service};
use callgrove_server::api::{Api, Live, router};
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::{Maintenance, MaintenanceConfig, MaintenanceEnd};
use callgrove_server::monitoring::{self, Monitored};
use callgrove_server::{Credential, LateRoutes, Router, grpc};
use tracing::Level;

use crate::announcement::ServerPlan;
use crate::connect::{credential_of_server, store_options};
use crate::exit::Exit;
use crate::log_lines::write_line;
use crate::output::{Problems, warn};
use crate::pages;
use crate::stop::{POLL_INTERVAL, StopSignal};
use callgrove_args::{CaArgs, PserverArgs, StatsArgs};
use callgrove_headless::{Readers, replace_file};

/// Where it listens by default.
pub(super) const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5559);
/// Name of the run of this process in place of an address.
const OWN_RUN: &str = "the running job";
/// Timeout for other instances that stop at the same time, as in a batch job.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_millis(LEASE_MS);

pub(crate) fn run(args: &PserverArgs) -> Result<Exit> {
    let stop = StopSignal::listen()?;
    let announce = args.announce.announce.as_deref();
    let plan = ServerPlan::new(args.listen, DEFAULT_ADDRESS, &args.serve, announce)?;
    let credential = credential_of_server(&args.serve)?;
    let options = store_options(AccessMode::ReadWrite, None, credential.clone(), &args.ca);
    let clock = MonotonicClock::new();
    let settings = state_settings(&args.stats, false);
    // Open before the database is, so that clients and monitors see that it waits.
    let routes = LateRoutes::new("the parameter server waits for its database");
    let server = plan.start_late(&routes)?;
    let is_stopped = || stop.is_set();
    let begun = begin_with_store(
        args.provdb.as_deref(),
        &options,
        &warn,
        &is_stopped,
        |store| initial_state(&settings, store, &clock, &warn),
    )?;
    let Some((store, state)) = begun else {
        server.stop()?;
        return Ok(Exit::Success);
    };
    let hub = Arc::new(Hub::new(clock.now_ms()));
    let maintenance = maintenance(
        &state,
        &hub,
        store,
        &args.stats,
        credential.as_ref(),
        &args.ca,
    )?;
    let api = Api {
        tree_models: Some(tree_model_registry(&state, args.provdb.is_some())),
        live: Live::Published(hub),
        documents: args.provdb.as_ref().map(|url| documents(url, &options)),
    };
    let bus = reader_of_bus(args, credential.as_ref(), &state)?;
    let page = watching_page(&api)?.merge(monitoring::router(Monitored {
        state: Some(Arc::clone(&state)),
        database: maintenance.database_health(),
        clock,
        ..Monitored::default()
    }));
    let entered = server.runtime().enter();
    routes.set(grpc::mount(
        router(api).merge(page),
        service(Arc::clone(&state)),
    ));
    drop(entered);
    write_line(
        Level::INFO,
        &format!("the parameter server listens at {}", server.url()),
    );
    let learner = match &args.provdb {
        Some(url) => Some(TreeLearner::start(&state, url, &options)?),
        None => None,
    };
    let mut problems = Problems::default();
    let is_over = || args.auto_shutdown && state.is_abandoned(clock.now_ms());
    while !stop.is_set() && !is_over() {
        std::thread::sleep(POLL_INTERVAL);
        let learning = learner.as_ref().and_then(TreeLearner::problem);
        let bus = bus.as_ref().and_then(BusServer::problem);
        let others = learning.into_iter().chain(bus);
        problems.report(maintenance.problems().into_iter().chain(others).collect());
    }
    finish_learning(learner);
    stop.wait_for(STOP_TIMEOUT, || match state.num_live(clock.now_ms()) {
        0 => None,
        1 => Some("an AD instance that still has data to send".to_owned()),
        num_live => Some(format!(
            "{num_live} AD instances that still have data to send"
        )),
    });
    let unread = bus.and_then(BusServer::finish);
    let kept = finish(maintenance);
    if let Some(problem) = unread {
        bail!("{problem}; the next parameter server of the job reads the rest");
    }
    save_model(&state, args.stats.save_model.as_deref())?;
    server.stop()?;
    kept
}

/// Begins to read what instances send over a message bus, if there is one.
fn reader_of_bus(
    args: &PserverArgs,
    credential: Option<&Credential>,
    state: &Arc<ServerState>,
) -> Result<Option<BusServer>> {
    let started = args.bus.as_ref().map(|address| {
        let mut options = ExchangeOptions::new(address);
        options.credential = credential.cloned();
        BusServer::start(&options, Arc::clone(state))
    });
    Ok(started.transpose()?)
}

/// Ends the learning of tree models.
pub(super) fn finish_learning(learner: Option<TreeLearner>) {
    if let Some(Err(error)) = learner.map(TreeLearner::finish) {
        warn(&error.to_string());
    }
}

/// Saves the last state and delivers the last packets.
pub(super) fn finish(maintenance: Maintenance) -> Result<Exit> {
    let MaintenanceEnd { saved, undelivered } = maintenance.finish();
    for what in &undelivered {
        warn(what);
    }
    saved?;
    Ok(if undelivered.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    })
}

/// Returns the settings of the initial state. `is_own`: the server ends with its only AD instance, in this process.
pub(super) fn state_settings(args: &StatsArgs, is_own: bool) -> InitialStateSettings {
    InitialStateSettings {
        file: args.load_model.clone(),
        is_frozen: args.freeze,
        is_of_one_instance: is_own,
    }
}

/// Starts the periodic maintenance.
pub(super) fn maintenance(
    state: &Arc<ServerState>,
    hub: &Arc<Hub>,
    store: Option<Box<dyn Store>>,
    args: &StatsArgs,
    credential: Option<&Credential>,
    ca: &CaArgs,
) -> Result<Maintenance> {
    ensure!(
        (0.01..=86_400.0).contains(&args.interval),
        "--interval {} is not between 0.01 and 86400 seconds",
        args.interval
    );
    let mut posters = Vec::new();
    for url in &args.post {
        let mut options = PosterOptions::new(url);
        options.credential = credential.cloned();
        options.ca_file.clone_from(&ca.ca_file);
        posters.push(Poster::start(options)?);
    }
    let config = MaintenanceConfig {
        state: Arc::clone(state),
        interval: Duration::from_millis((args.interval * 1e3) as u64),
        hub: Arc::clone(hub),
        posters,
        store,
    };
    Ok(Maintenance::start(config)?)
}

/// Returns the routes of the page that watches the run of this process.
pub(super) fn watching_page(api: &Api) -> Result<Router> {
    pages::routes_of_run(ServerAccess {
        own: Some((OWN_RUN.to_owned(), api.clone())),
        ..ServerAccess::default()
    })
}

/// Writes the models to a file, if one is given.
pub(super) fn save_model(state: &ServerState, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    if let Err(error) = replace_file(path, state.save()?.json.as_bytes(), Readers::User) {
        bail!("cannot save the models to {}: {error}", path.display());
    }
    Ok(())
}
