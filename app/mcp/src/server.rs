//! The server over standard input and output.

use std::time::Duration;

use anyhow::{Context, Result};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use crate::access::RunAccess;
use crate::open_run::OpenRuns;
use crate::tools::McpServer;
use crate::worker::QuestionThread;

/// Interval at which the server checks whether it must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The contents of a server.
pub struct ServerSettings {
    /// Sources of the run that tools use if they name none.
    pub sources: Vec<String>,
    /// Root function that is analysed first; `None` for the most promising one.
    pub function: Option<String>,
    /// True if a tool labels executions.
    pub may_label: bool,
}

/// Serves one client over standard input and output, until these end or `must_stop` returns `true`.
///
/// # Errors
/// The server cannot start, or the client does not follow the protocol.
pub fn serve_stdio(
    access: Box<dyn RunAccess>,
    settings: ServerSettings,
    must_stop: impl Fn() -> bool,
) -> Result<()> {
    let runs = OpenRuns::new(access, settings.sources, settings.function);
    let server = McpServer::new(QuestionThread::start(runs)?, settings.may_label);
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
