//! Arguments of `callgrove mcp`.

use clap::Args;

#[derive(Args, Debug)]
pub struct McpArgs {
    /// Run that tools use if they name none: its trace, or a saved session
    #[arg(value_name = "TRACE")]
    pub sources: Vec<String>,
    /// Also let tools name this run, database, server (its URL) or anything in this folder. They reach nothing else,
    /// and a token goes to no other server
    #[arg(long, value_name = "PLACE")]
    pub allow: Vec<String>,
    /// Root function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// Offer a tool that labels executions. Labels are kept with the run, as those given in a window
    #[arg(long)]
    pub labels: bool,
}
