//! `callgrove model`: the tree models of a running job, without a screen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use callgrove_detect::TreeVerdict;
use callgrove_model::{Forest, FunctionName, FunctionPattern, TreeIdx};
use callgrove_pserver::{ModelInForce, ModelPublication, TreeModelInfo, TreeModelList};
use callgrove_server::client::Client;
use callgrove_session::SavedModel;
use callgrove_session::watch::recorded_forest;
use serde_json::json;

use super::forest::forest_of;
use crate::args::{ModelArgs, ModelCommand, ServerArgs, SummaryFormat, TableFormat};
use crate::connect::secret;
use crate::follow::Reach;
use crate::host::replace_file;
use crate::output::{Clock, TextTable, complain, json_lines, print, thousands};
use crate::tree_models::recorded_trees;

pub(crate) fn run(args: &ModelArgs) -> Result<()> {
    match &args.command {
        ModelCommand::Show {
            model,
            server,
            version,
            save,
        } => match &server.server {
            None => show(&read_model(Path::new(model))?, model),
            Some(url) => {
                let client = client(url, &server.connect)?;
                let name = known(&client, model)?.name;
                let found = client.tree_model(&name, *version)?;
                if let Some(path) = save {
                    replace_file(path, found.model.as_bytes())
                        .with_context(|| format!("cannot write {}", path.display()))?;
                }
                let read = SavedModel::read(found.model.as_bytes())?;
                show(&read, &format!("{name}, version {}", found.version))
            }
        },
        ModelCommand::List { server, format } => list(&of(server)?.tree_models()?, *format),
        ModelCommand::Publish {
            model,
            server,
            name,
            note,
            dry_run,
        } => publish(&of(server)?, model, name.as_deref(), note, *dry_run),
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
            format,
        } => diff(before, after, trace, *format),
    }
}

fn of(server: &ServerArgs) -> Result<Client> {
    client(&server.server, &server.connect)
}

fn client(url: &str, connect: &crate::args::ConnectArgs) -> Result<Client> {
    let reach = Reach {
        ca_file: connect.ca.ca_file.clone(),
        token: secret(connect)?,
        ..Reach::default()
    };
    let client = reach.server(url)?;
    client
        .with_context(|| format!("{url} is no address of a server, such as http://127.0.0.1:5559"))
}

fn read_model(path: &Path) -> Result<SavedModel> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    SavedModel::read(&bytes).with_context(|| format!("cannot use the model {}", path.display()))
}

/// Says what a model was learned from.
fn show(model: &SavedModel, name: &str) -> Result<()> {
    let origin = model.origin();
    print(|out| {
        writeln!(out, "{name}")?;
        let mut line = |what: &str, text: String| writeln!(out, "  {what:<16} {text}");
        line("functions", origin.functions.join(", "))?;
        line("programs", origin.programs.join(", "))?;
        line("ranks", origin.num_ranks.to_string())?;
        line("trees", thousands(origin.num_trees))?;
        line("abnormal", thousands(origin.num_abnormal))?;
        line("median duration", origin.median_duration.to_string())
    })
}

fn list(found: &TreeModelList, format: SummaryFormat) -> Result<()> {
    if format == SummaryFormat::Json {
        return print(|out| json_lines(out, [found]));
    }
    let mut table = TextTable::new(&["model", "version", "in force", "bytes", "by", "note"]);
    for model in &found.models {
        for version in model.versions.iter().rev() {
            let is_in_force = Some(version.version) == model.in_force;
            table.push([
                model.name.clone(),
                version.version.to_string(),
                if is_in_force { "yes" } else { "" }.to_owned(),
                version.num_bytes.to_string(),
                version.by.clone(),
                version.note.clone(),
            ]);
        }
    }
    let num_current = found.instances.iter().filter(|it| it.is_current).count();
    print(|out| {
        table.print(out, 0)?;
        writeln!(
            out,
            "{num_current} of {} AD instances have what is in force",
            found.instances.len()
        )
    })
}

fn publish(
    client: &Client,
    path: &Path,
    name: Option<&str>,
    note: &str,
    is_dry: bool,
) -> Result<()> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let model = read_model(path)?;
    let name = name.map_or_else(|| model.default_name(), str::to_owned);
    if is_dry {
        return try_out(client, &model, &name);
    }
    let publication = ModelPublication {
        name,
        model: text,
        note: note.to_owned(),
        by: std::env::var("USER").unwrap_or_default(),
    };
    let version = client.publish_tree_model(&publication)?;
    let name = &publication.name;
    print(|out| writeln!(out, "version {version} of {name} is in force"))
}

/// Says what would change among the trees that the job has recorded.
fn try_out(client: &Client, model: &SavedModel, name: &str) -> Result<()> {
    let in_force = client.tree_models()?.models.into_iter();
    let in_force = in_force
        .filter(|it| it.name == name)
        .find_map(|it| it.in_force);
    let current = match in_force {
        Some(version) => {
            let text = client.tree_model(name, Some(version))?.model;
            Some((version, SavedModel::read(text.as_bytes())?))
        }
        None => None,
    };
    let functions = model.functions();
    let mut records = Vec::new();
    for function in functions {
        let quoted = function.replace('\'', "''");
        records.extend(recorded_trees(client, Some(&format!("func = '{quoted}'")))?);
    }
    let (forest, num_left_out) = recorded_forest(&records);
    if num_left_out > 0 {
        complain(&format!(
            "{num_left_out} recorded trees were too large to be kept, or damaged"
        ));
    }
    if forest.is_empty() {
        bail!(
            "the job has recorded no tree of {} so far: start it with --trees",
            functions.join(", ")
        );
    }
    let flagged = flagged(model, &forest)?;
    let before = match &current {
        Some((_, current)) => self::flagged(current, &forest)?,
        None => BTreeSet::new(),
    };
    let (new, gone) = (
        flagged.difference(&before).count(),
        before.difference(&flagged).count(),
    );
    print(|out| {
        write!(
            out,
            "of the {} trees that the job has recorded, this model calls {} abnormal",
            thousands(forest.len()),
            thousands(flagged.len())
        )?;
        match current {
            Some((version, _)) => writeln!(
                out,
                ": {new} that version {version}, which is in force, does not, and not {gone} that it does"
            ),
            None => writeln!(out, "; no model is in force now"),
        }
    })
}

fn flagged(model: &SavedModel, forest: &Forest) -> Result<BTreeSet<TreeIdx>> {
    let verdicts = model.verdicts(forest)?;
    let of_trees = verdicts.iter().enumerate();
    let abnormal = of_trees.filter(|(_, verdict)| verdict.is_abnormal);
    Ok(abnormal
        .map(|(tree, _)| TreeIdx::from_index(tree))
        .collect())
}

/// The model of a job that a person named as functions are named: by its name, or the end of it.
fn known(client: &Client, named: &str) -> Result<TreeModelInfo> {
    let pattern = FunctionPattern::new(named);
    let is_named = |model: &TreeModelInfo| {
        model.name == named || pattern.matches(&FunctionName::parse(&model.name))
    };
    let mut found: Vec<TreeModelInfo> = client.tree_models()?.models;
    found.retain(is_named);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!(
            "the job has no tree model {named}; `callgrove model list` shows those that it has"
        ),
        several => bail!("{named} names {several} tree models of the job; say more of the name"),
    }
}

fn roll_back(client: &Client, named: &str, to: Option<u32>, is_off: bool) -> Result<()> {
    let model = known(client, named)?;
    let name = &model.name;
    let version = match (is_off, to) {
        (true, _) => None,
        (false, Some(version)) => Some(version),
        (false, None) => {
            let in_force = model.in_force.unwrap_or(u32::MAX);
            let earlier = model.versions.iter().map(|version| version.version);
            let before = earlier.filter(|&version| version < in_force).max();
            Some(before.with_context(|| {
                format!(
                    "{name} has no version before the one in force; --off lets none be in force"
                )
            })?)
        }
    };
    let before = client.put_in_force(&ModelInForce {
        name: name.clone(),
        version,
    })?;
    let words = |version: Option<u32>| match version {
        Some(version) => format!("version {version}"),
        None => "no version".to_owned(),
    };
    print(|out| {
        writeln!(
            out,
            "{} of {name} is in force now, before it was {}",
            words(version),
            words(before)
        )
    })
}

/// Compares what two models say of the executions of a run.
fn diff(before: &Path, after: &Path, trace: &str, format: TableFormat) -> Result<()> {
    let (old, new) = (read_model(before)?, read_model(after)?);
    let function = new
        .functions()
        .first()
        .context("the model is for no function")?;
    let function = FunctionName::parse(function).qualified.to_owned();
    let (forest, _) = forest_of(trace, Some(&function), None, &mut Clock::new(false))?;
    let (old, new) = (old.verdicts(&forest)?, new.verdicts(&forest)?);
    let changed = |pair: &(usize, (&TreeVerdict, &TreeVerdict))| {
        let (old, new) = pair.1;
        old.is_abnormal != new.is_abnormal
    };
    let rows: Vec<_> = old.iter().zip(&new).enumerate().filter(changed).collect();
    let word = |verdict: &TreeVerdict| {
        if verdict.is_abnormal {
            "abnormal"
        } else {
            "normal"
        }
    };
    let code = |tree: usize| forest.code(TreeIdx::from_index(tree)).to_string();
    if format == TableFormat::Json {
        return print(|out| {
            json_lines(
                out,
                rows.iter().map(|(tree, (old, new))| {
                    json!({
                        "tree": code(*tree),
                        "before": word(old), "score_before": old.score,
                        "after": word(new), "score_after": new.score,
                    })
                }),
            )
        });
    }
    let columns = ["tree", "before", "score", "after", "score"].map(str::to_owned);
    let cells = rows.iter().map(|(tree, (old, new))| {
        vec![
            code(*tree),
            word(old).to_owned(),
            format!("{:.6}", old.score),
            word(new).to_owned(),
            format!("{:.6}", new.score),
        ]
    });
    super::query::print_rows(format, &columns, cells.collect())?;
    let count = |all: &[TreeVerdict]| all.iter().filter(|it| it.is_abnormal).count();
    complain(&format!(
        "of {} executions, the first model calls {} abnormal, the second {}; they differ on {}",
        thousands(forest.len()),
        thousands(count(&old)),
        thousands(count(&new)),
        thousands(rows.len())
    ));
    Ok(())
}
