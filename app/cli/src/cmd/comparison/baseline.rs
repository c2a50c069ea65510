//! `callgrove baseline`: runs in which all is well, in one file.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use callgrove_args::BaselineCommand;
use callgrove_check::{BaselineRun, RunBaseline};
use callgrove_headless::{Readers, replace_file};
use callgrove_model::count_of;

use callgrove_tables::BaselineTable;

use super::sides::{read, read_baseline};
use crate::exit::Exit;
use crate::output::{Clock, print, warn, with_progress};
use crate::table_output::TableDestination;

/// Variables in which services for continuous integration name the commit.
const COMMIT_VARIABLES: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];

pub(crate) fn run(command: &BaselineCommand) -> Result<Exit> {
    match command {
        BaselineCommand::Add {
            file,
            runs,
            commit,
            keep,
        } => add(file, runs, commit.as_deref(), *keep),
        BaselineCommand::Show { file, table } => {
            let destination = TableDestination::of(table)?;
            let baseline = read_baseline(file)?;
            destination.write(|out| out.rows(&BaselineTable, baseline.rows()))?;
            Ok(Exit::Success)
        }
    }
}

fn add(file: &Path, sources: &[String], commit: Option<&str>, keep: usize) -> Result<Exit> {
    let mut baseline = if file.exists() {
        read_baseline(file)?
    } else {
        RunBaseline::default()
    };
    let of_variables = || {
        COMMIT_VARIABLES
            .iter()
            .find_map(|name| std::env::var(name).ok())
    };
    let commit = commit.map(str::to_owned).or_else(of_variables);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let added_s = now.map_or(0, |it| it.as_secs());
    let (mut clock, mut exit) = (Clock::new(false), Exit::Success);
    for source in sources {
        let (run, of_run) = read(source, &mut clock)?;
        if of_run != Exit::Success {
            warn(&format!(
                "{source} is damaged: what is compared with it may be wrong"
            ));
        }
        exit = exit.and(of_run);
        let samples = with_progress("Sampling the calls", |progress| run.samples(progress))?;
        let added = BaselineRun {
            added_s,
            commit: commit.clone(),
            ..BaselineRun::new(source, &run, &samples)
        };
        baseline.add(added, keep);
    }
    let bytes = baseline.to_bytes()?;
    replace_file(file, &bytes, Readers::ByMask)
        .with_context(|| format!("cannot write {}", file.display()))?;
    let runs = count_of(baseline.runs().len(), "run");
    print(|out| writeln!(out, "{} has {runs}", file.display()))?;
    Ok(exit)
}
