//! `callgrove mcp`: a server of the model context protocol, through which an assistant asks about runs.
//!
//! It speaks over standard input and output and ends with them. Tools answer from the same session that a window
//! shows, one run at a time, on a thread of its own; nothing is changed but labels, and these only with `--labels`.

mod answer;
mod open_run;
mod tools;
mod worker;

use anyhow::{Context, Result};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use crate::args::McpArgs;
use open_run::OpenRuns;
use tools::McpServer;
use worker::Worker;

pub(crate) fn run(args: &McpArgs) -> Result<()> {
    let runs = OpenRuns::new(args.sources.clone(), args.function.clone(), args.labels);
    let server = McpServer::new(Worker::start(runs)?, args.labels);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the server")?;
    runtime.block_on(async {
        let service = server.serve(stdio()).await;
        service
            .context("the client did not begin a session of the protocol")?
            .waiting()
            .await
            .context("the server failed")
    })?;
    // A read of standard input cannot be cancelled, and nothing is left to do.
    runtime.shutdown_background();
    Ok(())
}
