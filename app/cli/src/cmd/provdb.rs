//! `callgrove provdb`: serves a provenance database to other machines.

use anyhow::Result;
use callgrove_provdb::net::ProvDbService;
use callgrove_provdb::{AccessMode, OpenOptions};
use callgrove_server::api::{Api, Live, router};
use callgrove_server::{RunningServer, grpc};

use crate::args::ProvDbServerArgs;
use crate::connect::{documents, open_store, server_config};
use crate::output::complain;

pub(crate) fn run(args: &ProvDbServerArgs) -> Result<()> {
    let options = OpenOptions {
        mode: AccessMode::ReadWrite,
        num_shards: args.shards,
        ..OpenOptions::default()
    };
    let store = open_store(&args.provdb, &options)?;
    // Questions go another way, so that a slow one delays nobody who stores.
    let to_read = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let reader = open_store(&args.provdb, &to_read)?;
    let api = Api {
        live: Live::Absent,
        documents: Some(documents(&args.provdb, &options)),
    };
    let config = server_config(args.listen, &args.serve)?;
    let server = RunningServer::start(config, || {
        grpc::mount(router(api), ProvDbService::with_reader(store, reader))
    })?;
    complain(&format!(
        "the provenance database {} is served at {}",
        args.provdb,
        server.url()
    ));
    server.wait_for_interrupt()?;
    server.stop()?;
    Ok(())
}
