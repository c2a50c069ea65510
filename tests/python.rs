//! The package `callgrove` of Python: its wheel is installed into a fresh virtual environment, and used there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use callgrove_tests::shell::{COMPUTE, data, example, stdout};
use tempfile::TempDir;

/// The environment variable that names the folder of Python's packages for this test.
const PACKAGES: &str = "CALLGROVE_PYTHON";

/// The environment variable that names the folder of the wheel.
const WHEELS: &str = "CALLGROVE_WHEELS";

/// A virtual environment with the wheel.
struct Python {
    folder: TempDir,
    packages: PathBuf,
}

impl Python {
    /// Installs the wheel.
    fn install() -> Result<Self> {
        let packages = std::env::var_os(PACKAGES).with_context(|| {
            format!("{PACKAGES} is not set: run `eval \"$(cargo xtask setup)\"`")
        })?;
        let packages = PathBuf::from(packages);
        let wheels = std::env::var_os(WHEELS)
            .with_context(|| format!("{WHEELS} is not set: `cargo xtask test` builds the wheel"))?;
        let folder = tempfile::tempdir()?;
        let venv = folder.path().join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let wheel = fs::read_dir(&wheels)?.next().context("no wheel")??.path();
        let name = wheel.to_string_lossy().into_owned();
        assert!(
            name.contains("cp311-abi3"),
            "{name} serves one release only"
        );
        let mut pip = Command::new(venv.join("bin/python3"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
        run(pip.arg(&wheel))?;
        Ok(Self { folder, packages })
    }

    /// Runs a script of `tests/python`, with journals in a folder of the test.
    fn run_script(&self, name: &str, args: &[&Path]) -> Result<String> {
        let mut python = Command::new(self.folder.path().join("venv/bin/python3"));
        python
            .arg(data("tests/python").join(name))
            .args(args)
            .env("PYTHONPATH", &self.packages)
            .env("XDG_STATE_HOME", self.folder.path())
            .env("IPYTHONDIR", self.folder.path());
        run(&mut python)
    }
}

/// Returns the standard output of a program that must succeed.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().context("the program does not start")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?} failed:\n{text}\n{errors}"
    );
    Ok(text)
}

#[test]
fn a_wheel_in_a_fresh_environment_answers_as_the_commands_do_and_runs_the_jupyter_document()
-> Result<()> {
    let python = Python::install()?;
    let folder = python.folder.path();
    let example = example().join("lammps-4r-small.callgrove");
    let source = example.to_string_lossy();
    let rows = stdout(&["analyze", &source, "--function", COMPUTE, "--format", "csv"])?;
    let rows_file = folder.join("rows.csv");
    fs::write(&rows_file, rows)?;
    let checked = python.run_script("checks.py", &[&example, &rows_file, folder])?;
    assert!(checked.contains("all checks passed"), "{checked}");
    let ran = python.run_script(
        "jupyter.py",
        &[&data("docs/callgrove.ipynb"), &data("docs")],
    )?;
    assert!(ran.contains("the document ran"), "{ran}");
    Ok(())
}
