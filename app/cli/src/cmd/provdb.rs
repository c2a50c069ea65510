//! `callgrove provdb`: serves a provenance database to other machines, or maintains it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use callgrove_pipeline::{documents, open_store};
use callgrove_provdb::AccessMode;
use callgrove_provdb_net::{ProvDbService, ReadPolicy};
use callgrove_provdb_stores::OpenOptions;
use callgrove_server::api::{Api, Live, router};
use callgrove_server::grpc;
use callgrove_server::monitoring::{self, Monitored};

use super::upkeep;
use crate::announcement::ServerPlan;
use crate::output::warn;
use crate::stop::{POLL_INTERVAL, StopSignal};
use callgrove_args::{ProvDbCommandArgs, ProvDbServerArgs};

/// Where it listens by default.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5560);
/// Time without writes after which all writers have ended; a parameter server writes more often.
const IDLE_TIMEOUT: Duration = Duration::from_secs(6);
/// Timeout for other processes after a request to stop. Batch systems kill after 30 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(25);

pub(crate) fn run(args: &ProvDbCommandArgs) -> Result<()> {
    match (&args.task, &args.serve.provdb) {
        (Some(task), _) => upkeep::run(task),
        (None, Some(location)) => serve(location, &args.serve),
        (None, None) => bail!("no database is given: pass its folder or postgres://…"),
    }
}

fn serve(location: &str, args: &ProvDbServerArgs) -> Result<()> {
    let options = OpenOptions {
        mode: AccessMode::ReadWrite,
        num_shards: args.shards,
        ..OpenOptions::default()
    };
    let store = open_store(location, &options, &warn)?;
    // Readers have stores of their own, so that a slow query delays no instance that writes.
    let (to_open, to_read) = (
        location.to_owned(),
        OpenOptions {
            mode: AccessMode::ReadOnly,
            ..OpenOptions::default()
        },
    );
    let open_reader = move || callgrove_provdb_stores::open(&to_open, &to_read);
    let policy = if args.allow_sql {
        ReadPolicy::PlainSql
    } else {
        ReadPolicy::QueriesOnly
    };
    let api = Api {
        live: Live::Absent,
        tree_models: None,
        documents: Some(documents(location, &options)),
    };
    let announce = args.announce.announce.as_deref();
    let plan = ServerPlan::new(args.listen, DEFAULT_ADDRESS, &args.serve, announce)?;
    let stop = StopSignal::listen()?;
    let (service, served) = ProvDbService::serve(store, open_reader, policy)?;
    let routes = router(api).merge(monitoring::router(Monitored {
        served: Some(served.monitor()),
        ..Monitored::default()
    }));
    let server = plan.start(|| grpc::mount(routes, service))?;
    warn(&format!(
        "serving the provenance database {location} at {}",
        server.url()
    ));
    while !stop.is_set() && !served.has_fault() {
        std::thread::sleep(POLL_INTERVAL);
    }
    stop.wait_for(STOP_TIMEOUT, || {
        (!served.is_idle(IDLE_TIMEOUT)).then(|| "processes that still write".to_owned())
    });
    let has_fault = served.has_fault();
    served.stop_reading();
    server.stop()?;
    served.close();
    ensure!(
        !has_fault,
        "the database panicked: please report it, with the lines above, and start this server again"
    );
    Ok(())
}
