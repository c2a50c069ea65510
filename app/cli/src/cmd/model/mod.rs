//! `callgrove model`: the tree models of a running job, on the command line.

mod diff;
mod evaluate;
mod show;
mod trial;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use callgrove_export::{
    SinkFormat, TableCell, TableColumn, TextTable, UntypedTable, write_json_line,
};
use callgrove_model::{FunctionName, FunctionPattern, thousands};
use callgrove_pipeline::{ServerAccess, read_tree_model};
use callgrove_pserver::{ModelInForce, ModelPublication, TreeModelInfo, TreeModelList};
use callgrove_server::client::Client;
use callgrove_session::SavedModel;

use self::diff::diff;
use self::evaluate::evaluate;
use self::show::show;
use self::trial::{print_trial, try_model};
use crate::connect::credential;
use crate::output::print;
use crate::table_output::TableDestination;
use callgrove_args::{ModelArgs, ModelCommand, PublishArgs, ServerArgs, TableArgs};
use callgrove_headless::{Readers, replace_file};

pub(crate) fn run(args: &ModelArgs) -> Result<()> {
    match &args.command {
        ModelCommand::Show {
            model,
            server,
            version,
            save,
            table,
        } => match &server.server {
            None => show(&read_tree_model(Path::new(model))?, model, table),
            Some(url) => {
                let client = client(url, &server.connect)?;
                let name = find_model(&client, model)?.name;
                let found = client.tree_model(&name, *version)?;
                if let Some(path) = save {
                    replace_file(path, found.model.as_bytes(), Readers::User)
                        .with_context(|| format!("cannot write {}", path.display()))?;
                }
                let read = SavedModel::read(found.model.as_bytes())?;
                let name = format!("{name}, version {}", found.version);
                show(&read, &name, table)
            }
        },
        ModelCommand::List { server, table } => list(&of(server)?.tree_models()?, table),
        ModelCommand::Publish(args) => publish(&of(&args.server)?, args),
        ModelCommand::Evaluate(args) => evaluate(args),
        ModelCommand::Rollback {
            name,
            server,
            to,
            off,
        } => roll_back(&of(server)?, name, *to, *off),
        ModelCommand::Diff {
            before,
            after,
            trace,
            table,
        } => diff(before, after, &trace.source(), table),
    }
}

fn of(server: &ServerArgs) -> Result<Client> {
    client(&server.server, &server.connect)
}

fn client(url: &str, connect: &callgrove_args::ConnectArgs) -> Result<Client> {
    let access = ServerAccess {
        ca_file: connect.ca.ca_file.clone(),
        credential: credential(connect)?,
        ..ServerAccess::default()
    };
    let client = access.server(url)?;
    client.with_context(|| {
        format!("{url} is not the address of a server, such as http://127.0.0.1:5559")
    })
}

fn list(found: &TreeModelList, args: &TableArgs) -> Result<()> {
    let destination = TableDestination::of(args)?;
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(print_list(out, found)?),
        SinkFormat::Json => Ok(write_json_line(out, found)?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let columns = [
                TableColumn::text("model"),
                TableColumn::int("version"),
                TableColumn::bool("in_force"),
                TableColumn::int("num_bytes"),
                TableColumn::text("by"),
                TableColumn::text("note"),
            ];
            let rows = found.models.iter().flat_map(|model| {
                let versions = model.versions.iter().rev();
                versions.map(|version| {
                    let cells = vec![
                        TableCell::from(&*model.name),
                        TableCell::from(version.version),
                        TableCell::from(Some(version.version) == model.in_force),
                        TableCell::from(version.num_bytes),
                        TableCell::from(&*version.by),
                        TableCell::from(&*version.note),
                    ];
                    ((), cells)
                })
            });
            out.rows(&UntypedTable::new("models", &columns), rows)
        }
    })
}

fn print_list(out: &mut dyn Write, found: &TreeModelList) -> std::io::Result<()> {
    let mut table = TextTable::new(&["model", "version", "in force", "bytes", "by", "note"]);
    for model in &found.models {
        for version in model.versions.iter().rev() {
            let is_in_force = Some(version.version) == model.in_force;
            table.push([
                model.name.clone(),
                version.version.to_string(),
                if is_in_force { "yes" } else { "" }.to_owned(),
                thousands(version.num_bytes),
                version.by.clone(),
                version.note.clone(),
            ]);
        }
    }
    let num_current = found.instances.iter().filter(|it| it.is_current).count();
    table.print(out, 0)?;
    writeln!(
        out,
        "{num_current} of {} AD instances have the models in force",
        found.instances.len()
    )
}

fn publish(client: &Client, args: &PublishArgs) -> Result<()> {
    let path = &args.model;
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let model = read_tree_model(path)?;
    let name = args.name.clone().unwrap_or_else(|| model.default_name());
    if args.dry_run {
        let trial = try_model(client, &model, &name, args)?;
        return print_trial(&trial, &args.table);
    }
    ensure!(
        !args.table.is_given(),
        "--format and --out are for the report of --dry-run"
    );
    let publication = ModelPublication {
        name,
        model: text,
        note: args.note.clone(),
        by: std::env::var("USER").unwrap_or_default(),
    };
    let version = client.publish_tree_model(&publication)?;
    let name = &publication.name;
    print(|out| writeln!(out, "version {version} of {name} is in force"))
}

/// Returns the tree model of a job by its name, or the end of its name.
fn find_model(client: &Client, named: &str) -> Result<TreeModelInfo> {
    let pattern = FunctionPattern::new(named);
    let mut found: Vec<TreeModelInfo> = client.tree_models()?.models;
    if let Some(at) = found.iter().position(|model| model.name == named) {
        return Ok(found.swap_remove(at));
    }
    found.retain(|model| pattern.matches(&FunctionName::parse(&model.name)));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("the job has no tree model {named}; `callgrove model list` lists its models"),
        several => bail!("{named} matches {several} tree models of the job; give more of the name"),
    }
}

fn roll_back(client: &Client, named: &str, to: Option<u32>, is_off: bool) -> Result<()> {
    let model = find_model(client, named)?;
    let name = &model.name;
    let version = match (is_off, to) {
        (true, _) => None,
        (false, Some(version)) => Some(version),
        (false, None) => {
            let in_force = model.in_force.unwrap_or(u32::MAX);
            let earlier = model.versions.iter().map(|version| version.version);
            let before = earlier.filter(|&version| version < in_force).max();
            Some(before.with_context(|| {
                format!("{name} has no version before the one in force; --off puts none in force")
            })?)
        }
    };
    let before = client.put_in_force(&ModelInForce {
        name: name.clone(),
        version,
    })?;
    let text = |version: Option<u32>| match version {
        Some(version) => format!("version {version}"),
        None => "no version".to_owned(),
    };
    print(|out| {
        writeln!(
            out,
            "{} of {name} is in force now, previously {}",
            text(version),
            text(before)
        )
    })
}
