//! The task: its arguments, its runs, and what it prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::machine::Machine;
use super::programs::{LabProgram, PROGRAMS, Script};
use super::score::{InjectedFaults, Score, TraceClock};
use crate::shell;
use crate::workspace::Workspace;

/// The environment variable that names the program to test instead of the one that is built.
const PROGRAM_VARIABLE: &str = "CALLGROVE_PROGRAM";

/// The arguments of the task.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Only lists the programs.
    list: bool,
    /// Installs PyTorch and JAX if one is missing.
    install: bool,
    /// The seed of the first run; each further run has the next one.
    seed: u64,
    programs: Vec<&'static LabProgram>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            list: false,
            install: false,
            seed: 1,
            programs: Vec::new(),
        };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--list" => options.list = true,
                "--install" => options.install = true,
                "--seed" => {
                    let seed = args.next().and_then(|seed| seed.parse().ok());
                    options.seed = seed.context("--seed needs a number")?;
                }
                name => {
                    let program = PROGRAMS.iter().find(|it| it.name == name);
                    let unknown = || format!("the lab has no program `{name}`; --list lists them");
                    options.programs.push(program.with_context(unknown)?);
                }
            }
        }
        if options.programs.is_empty() {
            options.programs = PROGRAMS.iter().collect();
        }
        Ok(options)
    }
}

/// Runs the lab. Fails if a job fails, but not for what the program misses: that is for a person to judge.
///
/// # Errors
/// An argument is unknown, the build fails, or no program can run here.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let options = Options::parse(args)?;
    let lab = workspace.target_dir().join("lab");
    let mut machine = Machine::check(&lab);
    if options.list {
        for program in options.programs {
            let state = machine
                .python(program)
                .map_or_else(|remedy| remedy, |_| "ready".to_owned());
            println!("{program}: {state}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if options.install {
        machine.install_frameworks(workspace, &lab)?;
    }
    let ready = ready(&options, &machine)?;
    let callgrove = build(workspace)?;
    let (mut total, mut all_ran, mut seed) = (Score::default(), true, options.seed);
    for (program, python) in &ready {
        for fault in program.faults {
            let name = format!("{}-{fault}-{seed}", program.name);
            let mut job = Command::new(python);
            job.arg(workspace.root().join(program.script.path()));
            let folder = lab.join("runs").join(&name);
            let arguments = [
                program.name.to_owned(),
                (*fault).to_owned(),
                seed.to_string(),
            ];
            match run_job(job.arg(&folder).args(arguments), &folder)
                .and_then(|()| score(program, &callgrove, &folder))
            {
                Ok(score) => {
                    println!("{name}: {score}");
                    score.details().iter().for_each(|line| println!("  {line}"));
                    total += &score;
                }
                Err(error) => {
                    println!("{name}: no score: {error:#}");
                    all_ran = false;
                }
            }
            seed += 1;
        }
    }
    println!("total: {total}");
    Ok(if all_ran {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the programs that can run here, each with its Python; names the others with the remedy.
fn ready(options: &Options, machine: &Machine) -> Result<Vec<(&'static LabProgram, PathBuf)>> {
    let mut ready = Vec::new();
    for program in &options.programs {
        match machine.python(program) {
            Ok(python) => ready.push((*program, python)),
            Err(remedy) => eprintln!("left out: {}: {remedy}", program.name),
        }
    }
    if ready.is_empty() {
        bail!("no program of the lab can run on this machine");
    }
    Ok(ready)
}

/// Returns the program to test, which is built unless a variable names one.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(PROGRAM_VARIABLE) {
        return Ok(path.into());
    }
    shell::heading("the program");
    shell::run(&mut workspace.cargo(["build", "--release", "--package", "callgrove"]))?;
    Ok(workspace.program("release"))
}

/// Runs a job with its output in a file next to its folder, which it creates.
fn run_job(job: &mut Command, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let parent = folder.parent().context("a run has a parent folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let path = folder.with_extension("log");
    let log =
        fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    job.stdout(log.try_clone()?).stderr(log);
    shell::run(job).with_context(|| format!("the job failed: see {}", path.display()))
}

/// Asks the program about a run, and scores its answers.
fn score(program: &LabProgram, callgrove: &Path, folder: &Path) -> Result<Score> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let about: Value = serde_json::from_str(&read("about.json")?)?;
    let trace = folder.join(about["trace"].as_str().unwrap_or_default());
    let truth = InjectedFaults::parse(&read("truth.json")?)?;
    let clock = match program.script {
        Script::Torch | Script::Jax => TraceClock::Wall,
        Script::Mpi => TraceClock::Unknown,
    };
    let ask = |args: &[&str]| {
        let mut command = Command::new(callgrove);
        shell::output(command.args(args).args(["--format", "json"]).arg(&trace))
    };
    let incidents = ask(&["incidents", "--not-by-design"])?;
    Score::new(&truth, clock, &incidents, &ask(&["trends"])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_choose_programs() {
        let options = parsed(&["--seed", "7", "ddp", "lammps"]).unwrap();
        let names: Vec<&str> = options.programs.iter().map(|it| it.name).collect();
        assert_eq!((options.seed, names), (7, vec!["ddp", "lammps"]));
        assert_eq!(parsed(&[]).unwrap().programs.len(), PROGRAMS.len());
    }

    #[test]
    fn unknown_arguments_are_refused() {
        for words in [&["--fast"][..], &["no-such"], &["--seed"], &["--seed", "x"]] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_failed_job_names_its_log() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("runs/ddp-none-1");
        let mut job = Command::new("sh");
        let error = run_job(job.args(["-c", "echo broken >&2; exit 1"]), &folder).unwrap_err();
        let log = data.path().join("runs/ddp-none-1.log");
        assert!(
            error.to_string().contains(&log.display().to_string()),
            "{error}"
        );
        assert_eq!(fs::read_to_string(log).unwrap(), "broken\n");
    }
}
