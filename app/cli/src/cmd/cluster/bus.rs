//! `callgrove bus` and `callgrove merger`: the message bus of a job, and those who add up what is on it.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result, anyhow, bail};
use callgrove_local::replace_process;
use callgrove_pipeline::MessageBusPlan;
use callgrove_pserver_net::{BusMerger, ExchangeOptions};
use callgrove_server::AddressFile;
use tracing::Level;

use crate::announcement::token_of;
use crate::cmd::{ad::instance_name, pserver::STOP_TIMEOUT};
use crate::connect::credential;
use crate::log_lines::write_line;
use crate::output::Problems;
use crate::stop::{POLL_INTERVAL, StopSignal};
use callgrove_args::{BusArgs, MergerArgs};

/// Becomes nats-server, so that its signals, messages and exit code are those of the bus.
pub(crate) fn run_bus(args: &BusArgs) -> Result<()> {
    let file = AddressFile::to_write(&args.announce).map_err(|fault| anyhow!(fault))?;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let plan = MessageBusPlan {
        folder: &args.folder,
        token: token_of(&file)?,
        file,
        listen: args.listen.unwrap_or(any),
        nats_server: args.nats_server.as_deref(),
    };
    let error = replace_process(&mut plan.prepare()?);
    Err(error).context("cannot start nats-server")
}

/// Merges the data of a group until the parameter server ends, or until asked to stop.
pub(crate) fn run_merger(args: &MergerArgs) -> Result<()> {
    let stop = StopSignal::listen()?;
    let options = ExchangeOptions {
        credential: credential(&args.connect)?,
        ..ExchangeOptions::new(&args.bus)
    };
    let merger = BusMerger::start(&options, args.group, instance_name())?;
    let starts = format!("adding up the data of group {}", args.group);
    write_line(Level::INFO, &starts);
    let mut problems = Problems::default();
    while !stop.is_set() && !merger.is_over() {
        std::thread::sleep(POLL_INTERVAL);
        problems.report(merger.problem().into_iter().collect());
    }
    // In a batch job all processes are asked to end at the same time, and instances still send data.
    stop.wait_for(STOP_TIMEOUT, || {
        (!merger.is_over()).then(|| "the parameter server, which has not ended".to_owned())
    });
    match merger.finish() {
        Some(problem) => bail!(
            "{problem}; the next merger of group {} adds up the rest",
            args.group
        ),
        None => Ok(()),
    }
}
