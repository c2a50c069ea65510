"""jax_job.py FOLDER PROGRAM FAULT SEED: one job of JAX with four processes of one CPU device each, traced by jax.profiler.

Writes a folder per process as JAX lays it out, truth.json, and about.json.
"""

import multiprocessing
import os
import time

import faults
from faults import RANKS, STEPS

WIDTH = 256
BATCH = 64
FAULTS = ["none", "stops", "loader", "slow"]


class DataParallel:
    """Each process has a part of the batch; the compiled step sums the gradients of three layers."""

    def __init__(self, jax, rank):
        self.jax = jax
        self.rank = rank
        self.mesh = jax.make_mesh((RANKS,), ("ranks",))
        self.step = jax.jit(jax.shard_map(self.on_rank, mesh=self.mesh, in_specs=self.inputs(), out_specs=self.outputs()))
        self.state = self.begin()

    def split(self):
        """The sharding by ranks."""
        return self.jax.P("ranks")

    def whole(self):
        """The sharding of what all ranks have."""
        return self.jax.P()

    def inputs(self):
        return (self.whole(), self.split())

    def outputs(self):
        return (self.whole(), self.whole())

    def begin(self):
        keys = self.jax.random.split(self.jax.random.key(0), 3)
        weights = [self.jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH**0.5 for key in keys]
        return [self.spread(weight, self.whole()) for weight in weights]

    def spread(self, local, spec):
        """Makes one array of the job from the part of this process."""
        sharding = self.jax.NamedSharding(self.mesh, spec)
        return self.jax.make_array_from_process_local_data(sharding, local)

    def on_rank(self, weights, inputs):
        def loss(weights):
            values = inputs
            for weight in weights:
                values = self.jax.numpy.tanh(values @ weight)
            return (values**2).mean()

        value, gradients = self.jax.value_and_grad(loss)(self.jax.lax.pcast(weights, "ranks", to="varying"))
        gradients = [self.jax.lax.psum(it, "ranks") for it in gradients]
        return [w - 0.01 * g for w, g in zip(weights, gradients)], self.jax.lax.psum(value, "ranks")

    def run(self, batch):
        """One step; waits for its loss."""
        self.state, loss = self.step(self.state, self.spread(batch, self.split()))
        return float(loss)


class Halo(DataParallel):
    """A field is split into strips: each sweep passes edges on to both neighbours; the step sums a norm."""

    SWEEPS = 3

    def outputs(self):
        return (self.split(), self.whole())

    def inputs(self):
        return (self.split(), self.split())

    def begin(self):
        return self.spread(self.jax.numpy.ones((BATCH, WIDTH)), self.split())

    def on_rank(self, field, source):
        ring = [(rank, (rank + 1) % RANKS) for rank in range(RANKS)]
        for _ in range(self.SWEEPS):
            above = self.jax.lax.ppermute(field[-1:], "ranks", ring)
            below = self.jax.lax.ppermute(field[:1], "ranks", [(to, of) for of, to in ring])
            padded = self.jax.numpy.concatenate([above, field, below])
            field = self.jax.numpy.tanh((padded[:-2] + padded[2:]) @ self.mix() + source)
        return field, self.jax.lax.psum((field**2).sum(), "ranks")

    def mix(self):
        return self.jax.numpy.eye(WIDTH) / 2


class Sharded(DataParallel):
    """Each process has a part of every layer: gathered before use, its gradients summed and scattered after it."""

    def inputs(self):
        return (self.split(), self.split())

    def outputs(self):
        return (self.split(), self.whole())

    def begin(self):
        keys = self.jax.random.split(self.jax.random.key(self.rank), 2)
        weights = [self.jax.random.normal(key, (WIDTH // RANKS, WIDTH)) / WIDTH**0.5 for key in keys]
        return [self.spread(weight, self.split()) for weight in weights]

    def on_rank(self, shards, inputs):
        def loss(weights):
            values = inputs
            for weight in weights:
                values = self.jax.numpy.tanh(values @ weight)
            return (values**2).mean()

        weights = [self.jax.lax.all_gather(it, "ranks", tiled=True) for it in shards]
        value, gradients = self.jax.value_and_grad(loss)(weights)
        gradients = [self.jax.lax.psum_scatter(it, "ranks", tiled=True) for it in gradients]
        return [w - 0.01 * g for w, g in zip(shards, gradients)], self.jax.lax.psum(value, "ranks")


PROGRAMS = {"jax-data": DataParallel, "jax-halo": Halo, "jax-sharded": Sharded}


def run_rank(rank, folder, program, plan, steps, rows, port):
    """Runs one rank. Notes its current step in `steps`, and puts its delays into the queue `rows`."""
    os.setsid()
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_num_cpu_devices", 1)
    jax.distributed.initialize(f"127.0.0.1:{port}", RANKS, rank)
    job = PROGRAMS[program](jax, rank)
    batch = jax.random.normal(jax.random.key(rank), (BATCH, WIDTH))
    extra = jax.jit(lambda it: jax.lax.fori_loop(0, 40, lambda _, m: jax.numpy.tanh(m @ m), it))
    square = jax.random.normal(jax.random.key(9), (WIDTH, WIDTH))
    own = []

    def step(number):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            with jax.profiler.TraceAnnotation("load_batch"):
                length_s = plan.delay("loader", rank, number)
                if length_s > 0:
                    begin = time.time()
                    time.sleep(length_s)
                    own.append([rank, number, "loader", begin, time.time()])
                values = batch * (1 + number / STEPS)
            if plan.slows(rank):
                extra(square).block_until_ready()
            job.run(values)

    # Compiles outside of the trace.
    extra(square).block_until_ready()
    for _ in range(3):
        job.run(batch)
    with jax.profiler.trace(f"{folder}/rank{rank}"):
        for number in range(STEPS):
            steps[rank] = number
            step(number)
    rows.put(own)
    jax.distributed.shutdown()


def main():
    folder, program, plan = faults.parse_arguments(PROGRAMS, FAULTS)
    # JAX does not survive a fork.
    context = multiprocessing.get_context("spawn")
    faults.run_job(folder, program, plan, context, run_rank, 29400 + plan.seed % 400)


if __name__ == "__main__":
    main()
