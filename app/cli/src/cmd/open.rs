//! `callgrove open`: opens a run in a window, from any of its sources.

use crate::connect::credential;
use crate::platform::open_commands;
use crate::window;
use anyhow::Result;
use callgrove_args::OpenArgs;
use callgrove_pipeline::ServerAccess;

pub(crate) fn run(args: &OpenArgs) -> Result<()> {
    let commands = open_commands(&args.sources, args.function.as_deref());
    let access = ServerAccess {
        ca_file: args.connect.ca.ca_file.clone(),
        credential: credential(&args.connect)?,
        own: None,
    };
    window::show(commands, access)
}
