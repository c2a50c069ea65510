"""Faults of the lab: which rank is delayed when, and stops from outside.

Times are wall-clock seconds. A row of the truth is [rank, step, kind, begin, end].
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

RANKS = 4
STEPS = 60
DELAYS = 4
TIMEOUT_S = 180
# A delay of this length is longer than a usual step and much longer than a turn of the scheduler.
DELAY_S = (0.06, 0.16)
# The first steps warm up, and a delay in the last ones may outlive the trace.
FAULTY_STEPS = range(10, STEPS - 4)


class Plan:
    """The rank that a fault hits, its steps, and the length of the delay in each."""

    def __init__(self, fault, seed):
        chance = random.Random(seed)
        self.fault = fault
        self.seed = seed
        self.victim = chance.randrange(RANKS)
        steps = sorted(chance.sample(FAULTY_STEPS, DELAYS))
        self.lengths = {step: chance.uniform(*DELAY_S) for step in steps}

    def delay(self, fault, rank, step):
        """The seconds by which this fault delays a rank in a step; 0 for none."""
        if fault != self.fault or rank != self.victim:
            return 0.0
        return self.lengths.get(step, 0.0)

    def slows(self, rank):
        """Whether a rank computes more than the others in every step."""
        return self.fault == "slow" and rank == self.victim


def stop(pid, length_s):
    """Stops a process for some time. Returns when all its threads had stopped, and when they were continued."""
    os.kill(pid, signal.SIGSTOP)
    while not _is_stopped(pid):
        time.sleep(0.0002)
    begin = time.time()
    time.sleep(length_s)
    end = time.time()
    os.kill(pid, signal.SIGCONT)
    return begin, end


def parse_arguments(programs, faults):
    """Returns the folder of the job, which it makes, the name of its program, and its plan, from the command line."""
    folder, program, fault, seed = sys.argv[1:5]
    if program not in programs or fault not in faults:
        sys.exit(f"programs: {', '.join(programs)}; faults: {', '.join(faults)}")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    return folder, program, Plan(fault, int(seed))


def run_job(folder, program, plan, context, run_rank, *more):
    """Runs the ranks of a job in processes of a context, delays its victim, and writes the truth.

    A rank runs `run_rank(rank, folder, program, plan, steps, rows, *more)`. It notes its current step in `steps`, and
    puts a list of its own delays into the queue `rows`.
    """
    about = {"program": program, "fault": plan.fault, "seed": plan.seed, "load_before": os.getloadavg()[0]}
    steps, queue = context.Array("i", [-1] * RANKS, lock=False), context.Queue()
    arguments = (str(folder), program, plan, steps, queue, *more)
    processes = [context.Process(target=run_rank, args=(rank, *arguments)) for rank in range(RANKS)]
    for process in processes:
        process.start()
    try:
        rows = _stop_in_steps(processes, plan, steps) if plan.fault == "stops" else []
        for _ in processes:
            rows += queue.get(timeout=TIMEOUT_S)
        for process in processes:
            process.join(TIMEOUT_S)
    finally:
        for process in processes:
            process.kill()
    if any(process.exitcode != 0 for process in processes):
        sys.exit("a rank has failed")
    if plan.fault == "slow":
        rows = [[plan.victim, -1, "slow", 0, 0]]
    write_truth(folder, rows, about)


def _stop_in_steps(processes, plan, steps):
    """Stops the victim in each of its steps, at a random instant of the step. Returns the delays."""
    rows = []
    for step, length_s in plan.lengths.items():
        while steps[plan.victim] < step and processes[plan.victim].is_alive():
            time.sleep(0.001)
        time.sleep((plan.seed * 7919 + step) % 13 / 1000)
        rows.append([plan.victim, step, "stop", *stop(processes[plan.victim].pid, length_s)])
    return rows


def write_truth(folder, rows, about):
    """Writes the delays, and what is worth knowing of the run."""
    Path(folder, "truth.json").write_text(json.dumps(sorted(rows)))
    about["load_after"] = os.getloadavg()[0]
    Path(folder, "about.json").write_text(json.dumps(about))


def _is_stopped(pid):
    threads = Path(f"/proc/{pid}/task").iterdir()
    states = [thread.joinpath("stat").read_text().rpartition(")")[2].split()[0] for thread in threads]
    return all(state in "TZX" for state in states)
