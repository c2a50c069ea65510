//! What the machine has of what the programs need, and the remedies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::programs::{LabProgram, Script};
use crate::shell;
use crate::workspace::Workspace;

/// PyTorch's release.
const REQUIREMENTS: &str = "tests/lab/requirements.txt";

/// The software of the machine that the lab uses.
pub(crate) struct Machine {
    /// A Python with PyTorch, if there is one.
    torch: Option<PathBuf>,
}

impl Machine {
    /// Looks for PyTorch: in the lab's folder, then in the Python of the user.
    pub(crate) fn check(lab: &Path) -> Self {
        let pythons = [installed(lab), PathBuf::from("python3")];
        let has_torch =
            |python: &PathBuf| shell::succeeds(Command::new(python).args(["-c", "import torch"]));
        Self {
            torch: pythons.into_iter().find(has_torch),
        }
    }

    /// Installs PyTorch into the lab's folder unless there is one. It needs some 6 GB.
    ///
    /// # Errors
    /// It cannot be installed.
    pub(crate) fn install_torch(&mut self, workspace: &Workspace, lab: &Path) -> Result<()> {
        if self.torch.is_some() {
            return Ok(());
        }
        shell::heading("installing PyTorch into the target folder");
        fs::create_dir_all(lab).with_context(|| format!("cannot make {}", lab.display()))?;
        shell::run(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(environment(lab)),
        )?;
        let python = installed(lab);
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "--requirement",
        ]);
        shell::run(pip.arg(workspace.root().join(REQUIREMENTS)))?;
        self.torch = Some(python);
        Ok(())
    }

    /// Returns the Python for a program; or the remedy if the machine lacks something.
    pub(crate) fn python(&self, program: &LabProgram) -> Result<PathBuf, String> {
        match (program.script, &self.torch) {
            (Script::Torch, Some(python)) => Ok(python.clone()),
            (Script::Torch, None) => Err(
                "PyTorch is missing; `cargo xtask lab --install` installs it into the target folder (6 GB)".to_owned(),
            ),
            (Script::Mpi, _) => {
                let missing = program.packages.iter().filter(|(_, it)| !is_program(it));
                let packages: Vec<&str> = missing.map(|(package, _)| *package).collect();
                if packages.is_empty() {
                    return Ok(PathBuf::from("python3"));
                }
                Err(format!(
                    "programs are missing; on Debian or Ubuntu, as root: apt-get install {}",
                    packages.join(" ")
                ))
            }
        }
    }
}

/// Returns the folder of PyTorch's environment.
fn environment(lab: &Path) -> PathBuf {
    lab.join("python")
}

/// Returns the Python of PyTorch's environment.
fn installed(lab: &Path) -> PathBuf {
    environment(lab).join("bin/python3")
}

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::super::programs::PROGRAMS;
    use super::*;

    #[test]
    fn what_is_missing_has_a_remedy() {
        let machine = Machine { torch: None };
        let message = machine.python(&PROGRAMS[0]).unwrap_err();
        assert!(message.contains("--install"), "{message}");
        let program = LabProgram {
            name: "x",
            about: "x",
            script: Script::Mpi,
            faults: &["none"],
            packages: &[("some-package", "no-such-program"), ("coreutils", "sh")],
        };
        let message = machine.python(&program).unwrap_err();
        assert!(
            message.ends_with("apt-get install some-package"),
            "{message}"
        );
    }
}
