//! `callgrove mcp`: a server of the model context protocol, through which an assistant asks about runs.
//!
//! It speaks over standard input and output and ends with them. Tools answer from the same session that a window
//! shows, one run at a time, on a thread of its own; nothing is changed but labels, and these only with `--labels`.

mod answer;
mod open_run;
mod records;
mod tools;
mod worker;

use anyhow::{Context, Result};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use crate::args::McpArgs;
use crate::stop::{POLL_INTERVAL, StopSignal};
use open_run::OpenRuns;
use tools::McpServer;
use worker::QuestionThread;

pub(crate) fn run(args: &McpArgs) -> Result<()> {
    let stop = StopSignal::listen()?;
    let runs = OpenRuns::new(args, stop.clone());
    let server = McpServer::new(QuestionThread::start(runs)?, args.labels);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the server")?;
    runtime.block_on(async {
        let serve = async {
            let service = server.serve(stdio()).await;
            let service = service.context("no client began a session of the protocol")?;
            service.waiting().await.context("the server failed")
        };
        let stopped = async {
            while !stop.is_set() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            served = serve => served.map(drop),
            () = stopped => Ok(()),
        }
    })?;
    // A read of standard input cannot be cancelled, and nothing is left to do.
    runtime.shutdown_background();
    Ok(())
}
