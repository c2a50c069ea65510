"""torch_job.py FOLDER PROGRAM FAULT SEED: one job of PyTorch with four ranks on gloo, traced by torch.profiler.

Writes a trace per rank as TensorBoard's handler names it, truth.json, and about.json.
"""

import multiprocessing
import os
import threading
import time
from queue import Queue

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

import faults
from faults import RANKS, STEPS

WIDTH = 256
BATCH = 64
CLASSES = 10
FAULTS = ["none", "stops", "loader", "slow", "slowop"]


class Work:
    """What a rank does in all programs: it loads batches and transforms them. Faults of the rank itself are here."""

    def __init__(self, rank, plan):
        self.rank = rank
        self.plan = plan
        self.rows = []
        self.mix = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
        self.large = torch.randn(1024, 1024) / 1024**0.5
        # The fastest of several: other work on the machine only makes it slower.
        self.rows_per_s = max(self._speed() for _ in range(10))

    def load_batch(self, step):
        """Returns inputs and classes."""
        with record_function("load_batch"):
            self._note("loader", step, time.sleep)
            return torch.randn(BATCH, WIDTH), torch.randint(0, CLASSES, (BATCH,))

    def transform(self, inputs, step):
        """Returns the inputs after a product of matrices, which may take longer."""
        with record_function("transform"):
            self._note("slowop", step, self._compute)
            if self.plan.slows(self.rank):
                for _ in range(4):
                    self.large[:BATCH] @ self.large
            return inputs @ self.mix

    def _note(self, fault, step, delay):
        length_s = self.plan.delay(fault, self.rank, step)
        if length_s > 0:
            begin = time.time()
            delay(length_s)
            self.rows.append([self.rank, step, fault, begin, time.time()])

    def _compute(self, length_s):
        """One large product or many small ones, by the seed."""
        if self.plan.seed % 2 == 0:
            torch.ones(int(length_s * self.rows_per_s), len(self.large)) @ self.large
            return
        end = time.perf_counter() + length_s
        while time.perf_counter() < end:
            self.large[:BATCH] @ self.large

    def _speed(self):
        """The rows of a product that this rank computes in a second."""
        begin = time.perf_counter()
        self.large[:256] @ self.large
        return 256 / (time.perf_counter() - begin)


class Program:
    """A program of the lab: a model, and what its ranks exchange."""

    def __init__(self, work):
        self.work = work
        self.rank = work.rank
        self.model = self.build()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loss = nn.CrossEntropyLoss()

    def build(self):
        return nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)
        )

    def begin(self):
        """Starts what loads batches."""

    def end(self):
        """Ends what loads batches."""

    def batch(self, step):
        inputs, classes = self.work.load_batch(step)
        return self.work.transform(inputs, step), classes

    def step(self, step):
        inputs, classes = self.batch(step)
        self.optimizer.zero_grad()
        self.loss(self.model(inputs), classes).backward()
        self.exchange(step)
        self.optimizer.step()

    def exchange(self, step):
        """Exchanges gradients."""


class Ddp(Program):
    """DistributedDataParallel: gradients are reduced by threads of gloo during the backward pass."""

    def build(self):
        return nn.parallel.DistributedDataParallel(super().build(), bucket_cap_mb=0.5)


class Gather(Program):
    """Gathers all outputs and reduces each gradient, on the main thread."""

    def step(self, step):
        inputs, classes = self.batch(step)
        outputs = self.model(inputs)
        parts = [torch.empty_like(outputs) for _ in range(RANKS)]
        dist.all_gather(parts, outputs.detach())
        self.optimizer.zero_grad()
        (self.loss(outputs, classes) + 0 * sum(part.mean() for part in parts)).backward()
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
        self.optimizer.step()


class Pipeline(Program):
    """Each rank is a stage: activations go forward and gradients go backward, one message per microbatch."""

    MICROBATCHES = 4

    def build(self):
        last = [nn.Linear(WIDTH, CLASSES)] if self.rank == RANKS - 1 else []
        return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), *last)

    def step(self, step):
        inputs, classes = self.batch(step)
        is_last = self.rank == RANKS - 1
        self.optimizer.zero_grad()
        stages = []
        for part, labels in zip(inputs.chunk(self.MICROBATCHES), classes.chunk(self.MICROBATCHES)):
            if self.rank > 0:
                part = torch.empty(part.shape)
                dist.recv(part, self.rank - 1)
                part.requires_grad_()
            outputs = self.model(part)
            if is_last:
                outputs = self.loss(outputs, labels)
            else:
                dist.send(outputs.detach(), self.rank + 1)
            stages.append((part, outputs))
        for part, outputs in reversed(stages):
            gradient = None
            if not is_last:
                gradient = torch.empty_like(outputs)
                dist.recv(gradient, self.rank + 1)
            outputs.backward(gradient)
            if self.rank > 0:
                dist.send(part.grad, self.rank - 1)
        self.optimizer.step()


class Eager(Program):
    """Trains alone, and averages the parameters in each third step only."""

    def exchange(self, step):
        if step % 3 == 2:
            with torch.no_grad():
                flat = nn.utils.parameters_to_vector(self.model.parameters())
                dist.all_reduce(flat)
                nn.utils.vector_to_parameters(flat / RANKS, self.model.parameters())


class Tensor(Program):
    """Two pairs of ranks: each pair adds its activations after every layer, and all ranks add their gradients."""

    def build(self):
        pairs = [dist.new_group([first, first + 1]) for first in range(0, RANKS, 2)]
        self.pair = pairs[self.rank // 2]
        return nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)] + [nn.Linear(WIDTH, CLASSES)])

    def step(self, step):
        values, classes = self.batch(step)
        self.optimizer.zero_grad()
        for layer in self.model[:-1]:
            values = layer(values).relu()
            partner = values.detach().clone()
            dist.all_reduce(partner, group=self.pair)
            values = values + 0.5 * (partner - values.detach())
        self.loss(self.model[-1](values), classes).backward()
        flat = nn.utils.parameters_to_vector(parameter.grad for parameter in self.model.parameters())
        dist.all_reduce(flat)
        self.optimizer.step()


class Sharded(Program):
    """Each rank holds a part of every layer: gathered before use, gradients reduced and scattered after it."""

    LAYERS = 2

    def build(self):
        self.shards = [torch.randn(WIDTH // RANKS, WIDTH) / WIDTH**0.5 for _ in range(self.LAYERS)]
        return nn.Linear(WIDTH, CLASSES)

    def step(self, step):
        values, classes = self.batch(step)
        self.optimizer.zero_grad()
        weights = []
        for shard in self.shards:
            weight = torch.empty(WIDTH, WIDTH)
            dist.all_gather(list(weight.chunk(RANKS)), shard)
            weights.append(weight.requires_grad_())
            values = torch.relu(values @ weight.T)
        self.loss(self.model(values), classes).backward()
        for shard, weight in reversed(list(zip(self.shards, weights))):
            gradient = torch.empty_like(shard)
            dist.reduce_scatter(gradient, [part.contiguous() for part in weight.grad.chunk(RANKS)])
            shard -= 0.01 / RANKS * gradient
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
        self.optimizer.step()


class Experts(Program):
    """Each rank is an expert: all_to_all takes parts of the batch to the experts and back, in two layers."""

    def build(self):
        return nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(2)] + [nn.Linear(WIDTH, CLASSES)])

    def step(self, step):
        values, classes = self.batch(step)
        self.optimizer.zero_grad()
        for expert in self.model[:-1]:
            received, returned = torch.empty_like(values), torch.empty_like(values)
            dist.all_to_all_single(received, values.detach().contiguous())
            outputs = expert(received).relu()
            dist.all_to_all_single(returned, outputs.detach())
            values = returned + outputs - outputs.detach()
        self.loss(self.model[-1](values), classes).backward()
        self.exchange(step)
        self.optimizer.step()

    def exchange(self, step):
        for parameter in self.model[-1].parameters():
            dist.all_reduce(parameter.grad)


class Asynchronous(Program):
    """Starts the reduction of each gradient in the backward pass, and waits for all of them before the optimizer."""

    def build(self):
        self.pending = []
        model = super().build()
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(
                lambda it: self.pending.append(dist.all_reduce(it.grad, async_op=True))
            )
        return model

    def exchange(self, step):
        for work in self.pending:
            work.wait()
        self.pending.clear()


class Prefetch(Asynchronous):
    """A thread loads the next batch into a queue, for which the main thread waits."""

    def begin(self):
        self.queue = Queue(maxsize=1)
        self.waits = {}
        self.loader = threading.Thread(target=self._load, name="loader")
        self.loader.start()

    def end(self):
        self.loader.join()
        self.drop_hidden()

    def drop_hidden(self):
        """Drops the part of a delay that the queue hides: before the main thread waits for the batch."""
        rows = [[*row[:3], max(row[3], self.waits.get(row[1], 0)), row[4]] for row in self.work.rows]
        self.work.rows = [row for row in rows if row[2] != "loader" or row[4] - row[3] > 0.04]

    def batch(self, step):
        with record_function("next_batch"):
            self.waits[step] = time.time()
            inputs, classes = self.queue.get()
        return self.work.transform(inputs, step), classes

    def _load(self):
        for step in range(STEPS):
            self.queue.put(self.work.load_batch(step))


class DataLoader(Prefetch):
    """A process loads the next batch for torch's DataLoader; no trace has its calls."""

    def begin(self):
        self.waits = {}
        data = torch.utils.data.DataLoader(Batches(self.work), batch_size=None, num_workers=1, prefetch_factor=1)
        self.batches = iter(data)

    def end(self):
        self.drop_hidden()

    def batch(self, step):
        self.waits[step] = time.time()
        inputs, classes, rows = next(self.batches)
        self.work.rows += rows
        return self.work.transform(inputs, step), classes


class Batches(torch.utils.data.Dataset):
    """The batches of all steps, each with the delays of its loading."""

    def __init__(self, work):
        self.work = work

    def __len__(self):
        return STEPS

    def __getitem__(self, step):
        self.work.rows = []
        inputs, classes = self.work.load_batch(step)
        return inputs, classes, self.work.rows


PROGRAMS = {
    "ddp": Ddp,
    "gather": Gather,
    "pipeline": Pipeline,
    "eager": Eager,
    "tensor": Tensor,
    "sharded": Sharded,
    "experts": Experts,
    "async": Asynchronous,
    "prefetch": Prefetch,
    "dataloader": DataLoader,
}


def run_rank(rank, folder, program, plan, steps, rows):
    """Runs one rank. Notes its current step in `steps`, and puts its delays into the queue `rows`."""
    # As launchers do: the scheduler of Linux shares a busy machine between sessions first.
    os.setsid()
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=RANKS)
    work = Work(rank, plan)
    job = PROGRAMS[program](work)
    # Ranks that start late are no fault.
    dist.barrier()
    options = torch._C._profiler._ExperimentalConfig(profile_all_threads=program == "prefetch")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=2, active=STEPS - 2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder, worker_name=f"worker{rank}", use_gzip=True),
        experimental_config=options,
    ) as profiler:
        job.begin()
        for step in range(STEPS):
            steps[rank] = step
            job.step(step)
            profiler.step()
    job.end()
    rows.put(work.rows)
    dist.barrier()
    dist.destroy_process_group()


def main():
    folder, program, plan = faults.parse_arguments(PROGRAMS, FAULTS)
    # Torch is imported once, before the ranks are forked.
    faults.run_job(folder, program, plan, multiprocessing.get_context("fork"), run_rank)
    (folder / "rendezvous").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
