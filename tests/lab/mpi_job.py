"""mpi_job.py FOLDER PROGRAM FAULT SEED: one job of Open MPI with four ranks, traced by eztrace as an OTF2 archive.

Writes the archive into FOLDER/trace, truth.json, and about.json. The archive has no wall clock.
"""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import faults
from faults import DELAY_S, RANKS, Plan

HERE = Path(__file__).resolve().parent
STOPS = 8
TIMEOUT_S = 180
LAMMPS_INPUT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 50
run 4000
"""
HPCC_INPUT = """\
HPLinpack benchmark input file
lab
HPL.out
8
1
600
1
64
0
1
2
2
16.0
1
2
1
4
1
2
1
1
1
0
1
1
0
0
2
64
0
0
1
8
0
"""


def lammps(folder, _slow):
    (folder / "in.lj").write_text(LAMMPS_INPUT)
    return ["lmp", "-in", "in.lj", "-log", "none"]


def hpcc(folder, _slow):
    (folder / "hpccinf.txt").write_text(HPCC_INPUT)
    return ["hpcc"]


def stencil(folder, slow):
    return [compiled(folder, "stencil"), "2400", *slow]


def workers(folder, slow):
    return [compiled(folder, "workers"), "2400", *slow]


def compiled(folder, name):
    program = folder / name
    subprocess.run(["mpicc", "-O2", "-o", program, HERE / f"{name}.c"], check=True)
    return str(program)


PROGRAMS = {"lammps": lammps, "hpcc": hpcc, "stencil": stencil, "workers": workers}
SLOW_PROGRAMS = ["stencil", "workers"]


def processes_of_ranks(launcher, name):
    """Returns the process of each rank below the launcher that runs a program."""
    found = {}
    for folder in Path("/proc").iterdir():
        try:
            environment = (folder / "environ").read_text(errors="replace")
            program = os.path.basename(os.readlink(folder / "exe"))
        except OSError:
            continue
        rank = re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", environment)
        parent = re.search(r"LAB_LAUNCHER=(\d+)", environment)
        if rank and parent and int(parent[1]) == launcher and program == name:
            found[int(rank[1])] = int(folder.name)
    return found


def stop_at_random(job, name, seed):
    """Stops random ranks until the job ends. Returns the delays."""
    chance = random.Random(seed)
    rows = []
    begin = time.time()
    while len(processes_of_ranks(os.getpid(), name)) < RANKS:
        if job.poll() is not None or time.time() - begin > 60:
            sys.exit("the ranks did not start")
        time.sleep(0.1)
    processes = processes_of_ranks(os.getpid(), name)
    time.sleep(1.5)
    while len(rows) < STOPS:
        time.sleep(chance.uniform(0.2, 0.5))
        rank = chance.randrange(RANKS)
        try:
            rows.append([rank, -1, "stop", *faults.stop(processes[rank], chance.uniform(*DELAY_S))])
        except (ProcessLookupError, FileNotFoundError):
            break
    return rows


def main():
    folder, program, fault, seed = sys.argv[1:5]
    known = {"none", "stops"} | ({"slow"} if program in SLOW_PROGRAMS else set())
    if program not in PROGRAMS or fault not in known:
        sys.exit(f"programs: {', '.join(PROGRAMS)}; faults: none, stops, and slow for {', '.join(SLOW_PROGRAMS)}")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    # The victim of `slow` is never rank 0, which only hands out tasks in `workers`.
    victim = 1 + Plan(fault, int(seed)).victim % (RANKS - 1)
    command = PROGRAMS[program](folder, [str(victim)] if fault == "slow" else [])
    about = {"program": program, "fault": fault, "seed": int(seed), "load_before": os.getloadavg()[0]}
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    launcher += ["--allow-run-as-root", "-n", str(RANKS), "eztrace", "-o", "trace", "-t", "openmpi"]
    environment = dict(os.environ, LAB_LAUNCHER=str(os.getpid()))
    with open(folder / "log", "w") as log:
        job = subprocess.Popen(launcher + command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            rows = stop_at_random(job, Path(command[0]).name, int(seed)) if fault == "stops" else []
            if job.wait(timeout=TIMEOUT_S) != 0:
                sys.exit(f"the job has failed: see {folder / 'log'}")
        finally:
            job.terminate()
    if fault == "slow":
        rows = [[victim, -1, "slow", 0, 0]]
    about["trace"] = str(next(folder.glob("**/*.otf2")).parent.relative_to(folder))
    faults.write_truth(folder, rows, about)


if __name__ == "__main__":
    main()
