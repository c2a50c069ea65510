//! The programs of the lab, their faults and requirements.

use std::fmt;

/// A program of the lab.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LabProgram {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its description, for the list.
    pub(crate) about: &'static str,
    /// The script that runs it.
    pub(crate) script: Script,
    /// The names of its faults; the first run has none.
    pub(crate) faults: &'static [&'static str],
    /// The Debian packages that it needs, each with a program of it.
    pub(crate) packages: &'static [(&'static str, &'static str)],
}

/// A script in `tests/lab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Jobs of PyTorch, in its Python.
    Torch,
    /// Jobs of JAX, in its Python.
    Jax,
    /// Jobs of Open MPI, in any Python.
    Mpi,
}

impl Script {
    /// Returns its path from the root of the repository.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Torch => "tests/lab/torch_job.py",
            Self::Jax => "tests/lab/jax_job.py",
            Self::Mpi => "tests/lab/mpi_job.py",
        }
    }
}

impl fmt::Display for LabProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<11} {} ({})",
            self.name,
            self.about,
            self.faults.join(", ")
        )
    }
}

/// All programs, in the order of their runs.
pub(crate) const PROGRAMS: &[LabProgram] = &[
    torch("ddp", "PyTorch: gradients reduced during the backward pass"),
    torch("gather", "PyTorch: collectives on the main thread"),
    torch("pipeline", "PyTorch: stages that exchange messages"),
    torch("eager", "PyTorch: a collective in each third step only"),
    torch(
        "tensor",
        "PyTorch: collectives of two groups and of all ranks",
    ),
    torch("sharded", "PyTorch: layers gathered, gradients scattered"),
    torch("experts", "PyTorch: all_to_all in two layers"),
    torch("async", "PyTorch: asynchronous collectives"),
    torch("prefetch", "PyTorch: batches loaded by a thread"),
    torch("dataloader", "PyTorch: batches loaded by a process"),
    jax("jax-data", "JAX: gradients summed in the compiled step"),
    jax("jax-halo", "JAX: edges passed on to both neighbours"),
    jax("jax-sharded", "JAX: layers gathered, gradients scattered"),
    mpi(
        "lammps",
        "MPI: LAMMPS, a Lennard-Jones melt",
        &["none", "stops"],
        &LAMMPS,
    ),
    mpi("hpcc", "MPI: HPC Challenge", &["none", "stops"], &HPCC),
    mpi(
        "stencil",
        "MPI: a stencil",
        &["none", "stops", "slow"],
        &COMPILED,
    ),
    mpi(
        "workers",
        "MPI: a master and its workers",
        &["none", "stops", "slow"],
        &COMPILED,
    ),
];

const EZTRACE: (&str, &str) = ("eztrace", "eztrace");
const OPEN_MPI: (&str, &str) = ("openmpi-bin", "mpirun");
const LAMMPS: [(&str, &str); 3] = [EZTRACE, OPEN_MPI, ("lammps", "lmp")];
const HPCC: [(&str, &str); 3] = [EZTRACE, OPEN_MPI, ("hpcc", "hpcc")];
const COMPILED: [(&str, &str); 3] = [EZTRACE, OPEN_MPI, ("libopenmpi-dev", "mpicc")];

const fn torch(name: &'static str, about: &'static str) -> LabProgram {
    LabProgram {
        name,
        about,
        script: Script::Torch,
        faults: &["none", "stops", "loader", "slow", "slowop"],
        packages: &[],
    }
}

const fn jax(name: &'static str, about: &'static str) -> LabProgram {
    LabProgram {
        name,
        about,
        script: Script::Jax,
        faults: &["none", "stops", "loader", "slow"],
        packages: &[],
    }
}

const fn mpi(
    name: &'static str,
    about: &'static str,
    faults: &'static [&'static str],
    packages: &'static [(&'static str, &'static str)],
) -> LabProgram {
    LabProgram {
        name,
        about,
        script: Script::Mpi,
        faults,
        packages,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_scripts_have_every_program_and_fault() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for program in PROGRAMS {
            let script = fs::read_to_string(root.join(program.script.path())).unwrap();
            for word in program.faults.iter().chain([&program.name]) {
                assert!(script.contains(&format!("\"{word}\"")), "{program}: {word}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_the_first_run_is_clean() {
        for (index, program) in PROGRAMS.iter().enumerate() {
            assert_eq!(program.faults[0], "none", "{program}");
            let later = &PROGRAMS[index + 1..];
            assert!(later.iter().all(|it| it.name != program.name), "{program}");
        }
    }
}
