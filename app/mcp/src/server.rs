//! The server over standard input and output.

use std::time::Duration;

use anyhow::{Context, Result};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use crate::access::{RunAccess, ServerSettings};
use crate::open_run::OpenRuns;
use crate::tools::McpServer;
use crate::worker::QuestionThread;

/// Interval at which the server checks whether it must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Serves one client over standard input and output, until these end or `must_stop` returns `true`.
///
/// # Errors
/// The server cannot start, or the client does not follow the protocol.
pub fn serve_stdio(
    access: Box<dyn RunAccess>,
    settings: ServerSettings,
    must_stop: impl Fn() -> bool,
) -> Result<()> {
    let may_label = settings.may_label;
    let runs = OpenRuns::new(access, settings);
    let server = McpServer::new(QuestionThread::start(runs)?, may_label);
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
            while !must_stop() {
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
