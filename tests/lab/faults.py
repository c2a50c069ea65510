"""Faults of the lab: which rank is delayed when, and stops from outside.

Times are wall-clock seconds. A row of the truth is [rank, step, kind, begin, end].
"""

import json
import os
import random
import signal
import time
from pathlib import Path

RANKS = 4
STEPS = 60
DELAYS = 4
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


def write_truth(folder, rows, about):
    """Writes the delays, and what is worth knowing of the run."""
    Path(folder, "truth.json").write_text(json.dumps(sorted(rows)))
    about["load_after"] = os.getloadavg()[0]
    Path(folder, "about.json").write_text(json.dumps(about))


def _is_stopped(pid):
    threads = Path(f"/proc/{pid}/task").iterdir()
    states = [thread.joinpath("stat").read_text().rpartition(")")[2].split()[0] for thread in threads]
    return all(state in "TZX" for state in states)
