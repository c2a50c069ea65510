//! Every check of the project, ordered so that failures show early.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{adios2, nats, python, shell, wasm, watch, web};

/// Longest time of a process of one test. Less than the time after which cargo-nextest ends a test
/// (`.config/nextest.toml`), so that its stack is printed before.
const TEST_LIMIT: Duration = Duration::from_secs(270);
/// Longest time of a process of several tests, or of a compiler. It only bounds silence: it is chosen as five times the
/// longest compilation seen on two overloaded cores (6 minutes).
const PROGRAM_LIMIT: Duration = Duration::from_mins(30);

/// Environment variables to set for the program and its tests: names and values.
pub(crate) type Exports = Vec<(&'static str, PathBuf)>;

/// Installs the requirements of the tests other than system packages.
///
/// # Errors
/// ADIOS2, nats-server or Python's packages are missing and cannot be installed.
pub(crate) fn set_up(workspace: &Workspace) -> Result<Exports> {
    let adios2 = adios2::ensure(workspace)?.map(|path| (adios2::VARIABLE, path));
    let mut exports: Exports = adios2.into_iter().collect();
    exports.push((nats::VARIABLE, nats::ensure(workspace)?));
    exports.push((python::VARIABLE, python::ensure(workspace)?));
    Ok(exports)
}

/// Runs every check, and prints the duration of each; the first failure ends the run.
///
/// # Errors
/// A check or the set-up fails.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::new(13);
    let result = run_checks(workspace, &mut steps);
    shell::heading("times");
    eprintln!("{}", steps.table());
    result
}

fn run_checks(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let mut exports = steps.run("ADIOS2, NATS and Python's packages", || set_up(workspace))?;
    steps.run("format", || {
        shell::run(&mut workspace.cargo(["fmt", "--all", "--check"]))
    })?;
    steps.run("spelling", || if_installed(workspace, "typos", &[]))?;
    steps.run("licences and sources of dependencies", || {
        let args = ["check", "bans", "licenses", "sources"];
        if_installed(workspace, "cargo-deny", &args)
    })?;
    // Link-time optimisation of the page takes one core for minutes; meanwhile the lints use the other.
    let mut page = steps.run("the standard library for browsers", || {
        Ok(web::compilation(workspace)?.arg("--quiet").spawn()?)
    })?;
    if let Err(error) = lint(workspace, steps) {
        page.kill()?;
        page.wait()?;
        return Err(error);
    }
    // The build of the program embeds the page.
    steps.run("the page for browsers", || {
        ensure!(page.wait()?.success(), "the page does not compile");
        eprintln!("{}", web::bundle(workspace)?.summary());
        Ok(())
    })?;
    steps.run("the program and its tests, compiled", || {
        // In one go: alone, the program would have other features of its dependencies, and be compiled twice.
        let targets = ["--workspace", "--bins", "--tests", "--examples"];
        shell::run(workspace.cargo(["build"]).args(targets))
    })?;
    steps.run("examples in the documentation", || {
        let mut doc = test_command(workspace, &exports, &["test", "--workspace", "--doc"]);
        watch::run(&mut doc, "examples in the documentation", PROGRAM_LIMIT)
    })?;
    let wheels = steps.run("the package for Python", || python::build_wheel(workspace))?;
    exports.push((python::WHEELS, wheels));
    let has_nextest = shell::succeeds(&mut workspace.cargo(["nextest", "--version"]));
    // Without cargo-nextest, the tests of a file share a process, and what one leaves behind meets the others.
    let (tests, limit): (&[&str], _) = if has_nextest {
        (&["nextest", "run", "--workspace"], TEST_LIMIT)
    } else {
        let tests = &["test", "--workspace", "--tests", "--no-fail-fast"];
        (tests, PROGRAM_LIMIT)
    };
    // The summary of the tests is the last output of the run.
    steps.run("the tests", || {
        // What is left to compile may take longer than a test.
        let compile = [tests, &["--no-run"]].concat();
        shell::run(&mut test_command(workspace, &exports, &compile))?;
        let mut tests = test_command(workspace, &exports, tests);
        watch::run(&mut tests, "the tests", limit)
    })
}

fn lint(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("lints", || {
        let mut clippy = workspace.cargo(["clippy", "--workspace", "--all-targets"]);
        shell::run(clippy.args(["--", "--deny", "warnings"]))
    })?;
    steps.run("lints for the browser", || wasm::check(workspace))?;
    steps.run("documentation", || {
        let mut rustdoc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
        shell::run(rustdoc.env("RUSTDOCFLAGS", "--deny warnings"))
    })
}

fn test_command(workspace: &Workspace, exports: &Exports, args: &[&str]) -> Command {
    let mut command = workspace.cargo(args.iter().copied());
    command
        .envs(exports.iter().cloned())
        .env("CALLGROVE_PROGRAM", workspace.program("debug"))
        // Test machines have no graphics card, or one that draws slightly differently.
        .env("LIBGL_ALWAYS_SOFTWARE", "1");
    command
}

/// Tests damaged external input: the program on `num_traces` traces with bytes changed at random, numbered from `seed`,
/// and the property tests of all readers and messages with more cases than in [`run`].
///
/// # Errors
/// Something does not end by itself, or panics; or the set-up fails.
pub(crate) fn damage(workspace: &Workspace, num_traces: u64, seed: u64) -> Result<()> {
    let exports = set_up(workspace)?;
    shell::run(&mut workspace.cargo(["build", "--package", "callgrove"]))?;
    shell::heading(&format!("damaged traces from seed {seed} on"));
    let mut traces = workspace.cargo(["test", "--package", "callgrove-tests", "--test", "damage"]);
    traces
        .envs(exports.iter().cloned())
        .env("CALLGROVE_PROGRAM", workspace.program("debug"))
        .env("CALLGROVE_FUZZ", num_traces.to_string())
        .env("CALLGROVE_FUZZ_SEED", seed.to_string());
    watch::run(&mut traces, "damaged traces", PROGRAM_LIMIT)?;
    let mut properties = workspace.cargo(["test", "--workspace", "--no-fail-fast"]);
    properties.args(["--exclude", "callgrove-tests", "--tests", "--lib"]);
    properties.envs(exports).env("PROPTEST_CASES", "2560");
    // Ten times as many cases as in `run`.
    watch::run(&mut properties, "property tests", PROGRAM_LIMIT * 10)
}

/// Runs a check whose program is optional for developers.
fn if_installed(workspace: &Workspace, program: &str, args: &[&str]) -> Result<()> {
    if !shell::succeeds(Command::new(program).arg("--version")) {
        eprintln!("skipped: {program} is not installed");
        return Ok(());
    }
    shell::run(
        Command::new(program)
            .args(args)
            .current_dir(workspace.root()),
    )
}
