//! Every check of the project, in the order in which failures are cheapest to see.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{adios2, packages, playwright, shell, wasm, web};

/// Environment variables to set for the program and its tests: names and values.
pub(crate) type Exports = Vec<(&'static str, PathBuf)>;

/// Installs what the tests need.
///
/// # Errors
/// Something is missing and cannot be installed from here.
pub(crate) fn set_up(workspace: &Workspace) -> Result<Exports> {
    packages::ensure("the test suite", &[packages::WINDOW, packages::TESTS])?;
    let adios2 = adios2::ensure(workspace)?.map(|path| (adios2::VARIABLE, path));
    let playwright = (playwright::VARIABLE, playwright::ensure(workspace)?);
    Ok(adios2.into_iter().chain([playwright]).collect())
}

/// Runs every check; the first that fails ends the run.
///
/// # Errors
/// A check or the set-up failed.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    shell::heading("set-up");
    let exports = set_up(workspace)?;
    shell::heading("format");
    shell::run(&mut workspace.cargo(["fmt", "--all", "--check"]))?;
    if_installed(workspace, "typos", "spelling", &[])?;
    if_installed(
        workspace,
        "cargo-deny",
        "licences and sources of dependencies",
        &["check", "bans", "licenses", "sources"],
    )?;
    shell::heading("lints");
    let mut clippy = workspace.cargo(["clippy", "--workspace", "--all-targets"]);
    shell::run(clippy.args(["--", "--deny", "warnings"]))?;
    shell::heading("lints for the browser");
    wasm::check(workspace)?;
    shell::heading("documentation");
    let mut rustdoc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    shell::run(rustdoc.env("RUSTDOCFLAGS", "--deny warnings"))?;
    run_tests(workspace, &exports)
}

/// Tries what comes from elsewhere, damaged: `num_traces` traces with bytes changed at random, numbered from `seed`, on the
/// program itself, and the property tests of all readers and messages with more cases than in [`run`].
///
/// # Errors
/// Something did not end by itself, or panicked; or the set-up failed.
pub(crate) fn fuzz(workspace: &Workspace, num_traces: u64, seed: u64) -> Result<()> {
    let exports = set_up(workspace)?;
    shell::run(&mut workspace.cargo(["build", "--package", "callgrove"]))?;
    shell::heading(&format!("damaged traces from seed {seed} on"));
    let mut traces = workspace.cargo(["test", "--package", "callgrove-tests", "--test", "damage"]);
    traces
        .envs(exports.iter().cloned())
        .env("CALLGROVE_PROGRAM", workspace.program("debug"))
        .env("CALLGROVE_FUZZ", num_traces.to_string())
        .env("CALLGROVE_FUZZ_SEED", seed.to_string());
    shell::run(&mut traces)?;
    let mut properties = workspace.cargo(["test", "--workspace", "--no-fail-fast"]);
    properties.args(["--exclude", "callgrove-tests", "--tests", "--lib"]);
    shell::run(properties.envs(exports).env("PROPTEST_CASES", "2560"))
}

/// Runs a check whose program developers may do without.
fn if_installed(workspace: &Workspace, program: &str, title: &str, args: &[&str]) -> Result<()> {
    shell::heading(title);
    let Some(path) = shell::find_program(program) else {
        eprintln!("left out: {program} is not installed");
        return Ok(());
    };
    shell::run(Command::new(path).args(args).current_dir(workspace.root()))
}

/// Runs the examples of the documentation and then, so that their summary closes the run, the tests.
fn run_tests(workspace: &Workspace, exports: &Exports) -> Result<()> {
    // The program takes the page in when it is built.
    eprintln!("{}", web::build(workspace)?.told());
    // With the program built beforehand, no test has to ask cargo for it.
    shell::heading("program under test");
    shell::run(&mut workspace.cargo(["build", "--package", "callgrove"]))?;
    let has_nextest = shell::succeeds(&mut workspace.cargo(["nextest", "--version"]));
    let tests: &[&str] = if has_nextest {
        &["nextest", "run", "--workspace"]
    } else {
        &["test", "--workspace", "--tests", "--no-fail-fast"]
    };
    for (title, args) in [
        (
            "examples in the documentation",
            &["test", "--workspace", "--doc"][..],
        ),
        ("tests", tests),
    ] {
        shell::heading(title);
        let mut command = workspace.cargo(args.iter().copied());
        command
            .envs(exports.iter().cloned())
            .env("CALLGROVE_PROGRAM", workspace.program("debug"))
            // Machines that test have no graphics card, or one that draws slightly differently.
            .env("LIBGL_ALWAYS_SOFTWARE", "1");
        shell::run(&mut command)?;
    }
    Ok(())
}
