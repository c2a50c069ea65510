//! `callgrove token`: the tokens of servers by their names and roles.

use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use callgrove_args::{ConnectArgs, TokenCommand};
use callgrove_headless::{Readers, replace_file};
use callgrove_local::create_private_folder;
use callgrove_model::count_of;
use callgrove_pipeline::ServerAccess;
use callgrove_server::{Token, TokenError, TokenFile, TokenList, TokenRole};
use tracing::Level;

use crate::connect::credential;
use crate::log_lines::write_line;
use crate::output::print;

pub(crate) fn run(command: &TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Add { file, name, role } => {
            let token = add(file, name, role.role)?;
            print(|out| writeln!(out, "{}", token.secret()))?;
            let hint = format!(
                "the token of {name} is printed once: {} has only its digest",
                file.display()
            );
            write_line(Level::INFO, &hint);
            Ok(())
        }
        TokenCommand::List {
            file: Some(file), ..
        } => {
            let list = TokenFile::new(file).read()?;
            print(|out| {
                let mut tokens = list.tokens().iter();
                tokens.try_for_each(|it| writeln!(out, "{:40} {}", it.name, it.role))
            })
        }
        TokenCommand::List {
            server, connect, ..
        } => list_uses(server.as_deref().unwrap_or_default(), connect),
        TokenCommand::Revoke { file, name } => change(file, |list| list.revoke(name)),
    }
}

/// Adds a new token to a list.
///
/// # Errors
/// The list cannot be changed, or has a token of this name.
pub(super) fn add(file: &Path, name: &str, role: TokenRole) -> Result<Token> {
    change(file, |list| list.add(name, role))
}

fn change<T>(
    path: &Path,
    change: impl FnOnce(&mut TokenList) -> Result<T, TokenError>,
) -> Result<T> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    create_private_folder(folder)
        .with_context(|| format!("cannot keep a list of tokens in {}", folder.display()))?;
    // Of two commands at the same time, one would undo the change of the other. Windows cannot lock a folder.
    let locked = File::open(folder).ok();
    if let Some(folder) = &locked {
        folder.lock()?;
    }
    let mut list = TokenFile::new(path).read_if_any()?;
    let changed = change(&mut list)?;
    replace_file(path, list.to_json()?.as_bytes(), Readers::User)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(changed)
}

/// Prints how the tokens of a server are used.
fn list_uses(server: &str, connect: &ConnectArgs) -> Result<()> {
    let access = ServerAccess {
        ca_file: connect.ca.ca_file.clone(),
        credential: credential(connect)?,
        ..ServerAccess::default()
    };
    let client = access.server(server)?;
    let client = client.with_context(|| format!("{server} is not the address of a server"))?;
    let uses = client.token_uses()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.map_or(0, |it| it.as_secs());
    print(|out| {
        uses.iter().try_for_each(|it| {
            let last = it.last_used_s.map_or_else(
                || "never used since the server started".to_owned(),
                |last| {
                    let age = format!("{} s ago", now_s.saturating_sub(last));
                    format!(
                        "{}, last {age}",
                        count_of(it.num_requests as usize, "request")
                    )
                },
            );
            writeln!(out, "{:40} {:8} {last}", it.name, it.role)
        })
    })
}
