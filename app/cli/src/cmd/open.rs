//! `callgrove open`: opens a run in a window, from any of its sources.

use anyhow::Result;
use callgrove_pipeline::ServerAccess;
use callgrove_session::Command;

use crate::args::OpenArgs;
use crate::connect::credential;
use crate::platform::open_command;
use crate::window;

pub(crate) fn run(args: &OpenArgs) -> Result<()> {
    let mut commands: Vec<Command> = args
        .sources
        .iter()
        .map(|named| open_command(named))
        .collect();
    for command in &mut commands {
        if let Command::OpenTrace { function, .. } = command {
            function.clone_from(&args.function);
        }
    }
    let access = ServerAccess {
        ca_file: args.connect.ca.ca_file.clone(),
        credential: credential(&args.connect)?,
        own: None,
    };
    window::show(commands, access)
}
