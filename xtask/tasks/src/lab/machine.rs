//! What the machine has of what the programs need, and the remedies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::programs::{LabProgram, Script};
use crate::shell;
use crate::workspace::Workspace;

/// The releases of PyTorch and JAX.
const REQUIREMENTS: &str = "tests/lab/requirements.txt";

/// The software of the machine that the lab uses.
pub(crate) struct Machine {
    /// A Python with PyTorch, if there is one.
    torch: Option<PathBuf>,
    /// A Python with JAX, if there is one.
    jax: Option<PathBuf>,
}

impl Machine {
    /// Looks for PyTorch and JAX: in the lab's folder, then in the Python of the user.
    pub(crate) fn check(lab: &Path) -> Self {
        let find = |import: &str| {
            let mut pythons = [installed(lab), PathBuf::from("python3")].into_iter();
            pythons.find(|python| shell::succeeds(Command::new(python).args(["-c", import])))
        };
        Self {
            torch: find("import torch"),
            jax: find("import jax"),
        }
    }

    /// Installs PyTorch and JAX into the lab's folder unless there are both. They need some 6 GB.
    ///
    /// # Errors
    /// They cannot be installed.
    pub(crate) fn install_frameworks(&mut self, workspace: &Workspace, lab: &Path) -> Result<()> {
        if self.torch.is_some() && self.jax.is_some() {
            return Ok(());
        }
        shell::heading("installing PyTorch and JAX into the target folder");
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
        (self.torch, self.jax) = (Some(python.clone()), Some(python));
        Ok(())
    }

    /// Returns the Python for a program; or the remedy if the machine lacks something.
    pub(crate) fn python(&self, program: &LabProgram) -> Result<PathBuf, String> {
        let of = |framework: &str, python: &Option<PathBuf>| {
            python.clone().ok_or_else(|| {
                format!(
                    "{framework} is missing; `cargo xtask lab --install` installs PyTorch and JAX into the target folder (6 GB)"
                )
            })
        };
        match program.script {
            Script::Torch => of("PyTorch", &self.torch),
            Script::Jax => of("JAX", &self.jax),
            Script::Mpi => {
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

/// Returns the folder of the environment of PyTorch and JAX.
fn environment(lab: &Path) -> PathBuf {
    lab.join("python")
}

/// Returns the Python of that environment.
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
        let machine = Machine {
            torch: None,
            jax: None,
        };
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
