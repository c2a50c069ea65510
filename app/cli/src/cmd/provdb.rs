//! `callgrove provdb`: serves a provenance database to other machines, or does its upkeep.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use callgrove_provdb::net::{ProvDbService, ReadPolicy};
use callgrove_provdb::{AccessMode, OpenOptions};
use callgrove_server::api::{Api, Live, router};
use callgrove_server::monitoring::{self, Monitored};
use callgrove_server::{RunningServer, grpc};

use super::upkeep;
use crate::args::{ProvDbCommandArgs, ProvDbServerArgs};
use crate::connect::{documents, open_store, server_config};
use crate::output::complain;
use crate::stop::{LOOK, StopSignal};

/// A parameter server writes more often.
const SILENCE: Duration = Duration::from_secs(6);
/// How long a server that is told to end waits for that. Batch systems kill after 30 s.
const FAREWELL: Duration = Duration::from_secs(25);

pub(crate) fn run(args: &ProvDbCommandArgs) -> Result<()> {
    match (&args.task, &args.serve.provdb) {
        (Some(task), _) => upkeep::run(task),
        (None, Some(place)) => serve(place, &args.serve),
        (None, None) => bail!("no database is named: give its folder or postgres://…"),
    }
}

fn serve(place: &str, args: &ProvDbServerArgs) -> Result<()> {
    let options = OpenOptions {
        mode: AccessMode::ReadWrite,
        num_shards: args.shards,
        ..OpenOptions::default()
    };
    let store = open_store(place, &options)?;
    // Questions have stores of their own, so that a slow one delays no instance that stores.
    let (to_open, to_read) = (
        place.to_owned(),
        OpenOptions {
            mode: AccessMode::ReadOnly,
            ..OpenOptions::default()
        },
    );
    let open_reader = move || callgrove_provdb::open(&to_open, &to_read);
    let policy = if args.allow_sql {
        ReadPolicy::PlainSql
    } else {
        ReadPolicy::QueriesOnly
    };
    let api = Api {
        live: Live::Absent,
        tree_models: None,
        documents: Some(documents(place, &options)),
    };
    let config = server_config(args.listen, &args.serve)?;
    let stop = StopSignal::listen()?;
    let (service, served) = ProvDbService::serve(store, open_reader, policy)?;
    let routes = router(api).merge(monitoring::router(Monitored {
        served: Some(served.monitor()),
        ..Monitored::default()
    }));
    let server = RunningServer::start(config, || grpc::mount(routes, service))?;
    complain(&format!(
        "the provenance database {place} is served at {}",
        server.url()
    ));
    while !stop.is_set() && !served.has_fault() {
        std::thread::sleep(LOOK);
    }
    stop.stay_for(FAREWELL, || {
        (!served.is_idle(SILENCE)).then(|| "those who still write".to_owned())
    });
    let has_fault = served.has_fault();
    served.stop_reading();
    server.stop()?;
    served.close();
    ensure!(
        !has_fault,
        "the database ended by a panic: please report it, with the lines above, and start this server again"
    );
    Ok(())
}
