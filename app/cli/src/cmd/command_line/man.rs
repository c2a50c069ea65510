//! `callgrove man`: the manual pages.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;

use crate::output::print;
use callgrove_headless::{Readers, replace_file};

/// Prints the main page, or writes the pages of all commands to a folder.
pub(crate) fn run(folder: Option<&Path>, cli: &Command) -> Result<()> {
    let Some(folder) = folder else {
        let (_, page) = page(cli)?;
        return print(|out| out.write_all(&page));
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut commands = Vec::new();
    add_commands(cli, &mut commands);
    for command in &commands {
        let (name, page) = page(command)?;
        let path = folder.join(name);
        replace_file(&path, &page, Readers::ByMask)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(|out| {
        writeln!(
            out,
            "{} manual pages are in {}",
            commands.len(),
            folder.display()
        )
    })
}

/// Adds a command and those below it.
fn add_commands<'a>(command: &'a Command, commands: &mut Vec<&'a Command>) {
    commands.push(command);
    let below = command.get_subcommands();
    for below in below.filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        add_commands(below, commands);
    }
}

/// Returns the file name of a command's page, and the page.
fn page(command: &Command) -> Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok((man.get_filename(), page))
}
