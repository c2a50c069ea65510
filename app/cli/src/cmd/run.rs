//! `callgrove run`: the whole pipeline in one process, on one machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use callgrove_ad::{Instance, Status};
use callgrove_model::thousands;
use callgrove_pipeline::{TreeLearner, documents, initial_state, open_store, tree_model_registry};
use callgrove_provdb::{AccessMode, Store};
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{MonotonicClock, ServerState};
use callgrove_server::api::{Api, Live, router};
use callgrove_server::hub::Hub;
use callgrove_server::monitoring::{self, DocumentCounts, Monitored};
use callgrove_server::{Credential, RunningServer};
use tracing::Level;

use super::{ad, pserver};
use crate::ad_settings::{instance_options, open_streams};
use crate::announcement::ServerPlan;
use crate::connect::{credential_of_server, store_options};
use crate::exit::Exit;
use crate::log_lines::write_line;
use crate::output::warn;
use crate::pages;
use crate::stop::StopSignal;
use callgrove_args::RunArgs;

pub(crate) fn run(args: &RunArgs) -> Result<Exit> {
    if let Some(location) = &args.rejudge {
        return rejudge(args, location);
    }
    let stop = StopSignal::listen()?;
    let options = instance_options(&args.streams, &args.detect)?;
    let OwnServer {
        credential,
        open_options,
        server_store,
        instance_store,
        clock,
        state,
    } = OwnServer::open(args, args.provdb.provdb.as_deref())?;
    let hub = Arc::new(Hub::new(clock.now_ms()));
    let maintenance = pserver::maintenance(
        &state,
        &hub,
        server_store,
        &args.stats,
        credential.as_ref(),
        &args.connect,
    )?;
    let documents = Arc::<DocumentCounts>::default();
    let monitored = Monitored {
        state: Some(Arc::clone(&state)),
        database: maintenance.database_health(),
        instance_documents: instance_store.is_some().then(|| Arc::clone(&documents)),
        clock,
        ..Monitored::default()
    };
    let server = listen(args, &state, &hub, &open_options, monitored)?;
    let learner = match &args.provdb.provdb {
        Some(url) if !args.detect.trees.is_empty() => {
            Some(TreeLearner::start(&state, url, &open_options)?)
        }
        _ => None,
    };
    let note = |status: &Status| {
        let stored = &status.stored;
        documents.replace(stored.num_documents, stored.num_lost, stored.num_waiting);
        documents.set_left_out(status.num_left_out);
    };
    let start = Instant::now();
    let streams = open_streams(&args.streams, &stop)?;
    let followed = ad::follow(
        streams,
        options,
        Box::new(state.session()),
        instance_store,
        &stop,
        &|status| {
            note(status);
            let learning = learner.as_ref().and_then(TreeLearner::problem);
            maintenance.problems().into_iter().chain(learning).collect()
        },
    );
    pserver::finish_learning(learner);
    // Results so far are saved, whatever ended the streams.
    let kept = pserver::finish(maintenance);
    pserver::save_model(&state, args.stats.save_model.as_deref())?;
    let status = followed?;
    note(&status);
    let exit = kept?.and(ad::exit_of(&status));
    ad::summarize(&status, start, args.format)?;
    if let Some(server) = server {
        while args.stay && !stop.is_set() {
            std::thread::sleep(Duration::from_millis(100));
        }
        server.stop()?;
    }
    Ok(exit)
}

/// The parameter server of this process, with the databases that it and the instance write.
struct OwnServer {
    credential: Option<Credential>,
    open_options: OpenOptions,
    server_store: Option<Box<dyn Store>>,
    instance_store: Option<Box<dyn Store>>,
    clock: MonotonicClock,
    state: Arc<ServerState>,
}

impl OwnServer {
    fn open(args: &RunArgs, provdb: Option<&str>) -> Result<Self> {
        let credential = credential_of_server(&args.serve)?;
        let open_options = store_options(
            AccessMode::ReadWrite,
            args.provdb.shards,
            credential.clone(),
            &args.connect,
        );
        let open = || {
            provdb
                .map(|url| open_store(url, &open_options, &warn))
                .transpose()
        };
        let (mut server_store, instance_store) = (open()?, open()?);
        let clock = MonotonicClock::new();
        let state = initial_state(
            &pserver::state_settings(&args.stats, true),
            &mut server_store,
            &clock,
            &warn,
        )?;
        Ok(Self {
            credential,
            open_options,
            server_store,
            instance_store,
            clock,
            state,
        })
    }
}

/// Judges the records of a live run again, with the complete models.
fn rejudge(args: &RunArgs, location: &str) -> Result<Exit> {
    let options = instance_options(&args.streams, &args.detect)?;
    let OwnServer {
        credential,
        server_store,
        instance_store,
        clock,
        state,
        ..
    } = OwnServer::open(args, Some(location))?;
    let instance_store = instance_store.context("no database was opened")?;
    ensure!(
        !state.run().is_empty(),
        "{location} has no models of a run: name the database in which the run's parameter server saved"
    );
    let hub = Arc::new(Hub::new(clock.now_ms()));
    let maintenance = pserver::maintenance(
        &state,
        &hub,
        server_store,
        &args.stats,
        credential.as_ref(),
        &args.connect,
    )?;
    let session = Box::new(state.session());
    let judged = Instance::rejudge(options, session, instance_store, &ad::instance_name());
    let kept = pserver::finish(maintenance);
    warn(&format!(
        "with the complete models, {} of the recorded executions are anomalies",
        thousands(judged?.num_anomalies)
    ));
    kept
}

/// Serves the live overview, if requested, and prints its address.
fn listen(
    args: &RunArgs,
    state: &Arc<ServerState>,
    hub: &Arc<Hub>,
    open_options: &OpenOptions,
    monitored: Monitored,
) -> Result<Option<RunningServer>> {
    if args.listen.is_none() && args.announce.is_none() {
        return Ok(None);
    }
    let provdb = args.provdb.provdb.as_ref();
    let api = Api {
        tree_models: Some(tree_model_registry(state, provdb.is_some())),
        live: Live::Published(Arc::clone(hub)),
        documents: provdb.map(|url| documents(url, open_options)),
    };
    let announce = args.announce.as_deref();
    let plan = ServerPlan::new(args.listen, pserver::DEFAULT_ADDRESS, &args.serve, announce)?;
    let page = pserver::watching_page(&api)?.merge(monitoring::router(monitored));
    let server = plan.start(|| router(api).merge(page))?;
    let url = args.announce.as_deref().map_or_else(
        || server.url().to_owned(),
        |file| file.display().to_string(),
    );
    let or_page = if pages::is_built() {
        format!(" (or, in a browser, callgrove serve {url})")
    } else {
        String::new()
    };
    write_line(
        Level::INFO,
        &format!("watch it with: callgrove open {url}{or_page}"),
    );
    Ok(Some(server))
}
