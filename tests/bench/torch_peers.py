# SPDX-License-Identifier: Apache-2.0
"""The PyTorch side of `./lab bench`: prints one "name number" line per figure.

Usage: torch_peers.py version | queue | stream | spawn | hogwild | article
"""
import sys
import time

import torch
import torch.multiprocessing as mp
from torch import nn


def echo(inbox, outbox, rounds):
    for _ in range(rounds):
        outbox.put(inbox.get())
    inbox.get()


def queue():
    """Round trip of the handle of one shared tensor through two SimpleQueues."""
    context = mp.get_context("fork")
    there, back = context.SimpleQueue(), context.SimpleQueue()
    rounds = 500
    child = context.Process(target=echo, args=(there, back, rounds))
    child.start()
    tensor = torch.zeros(1024).share_memory_()
    start = time.perf_counter()
    for _ in range(rounds):
        there.put(tensor)
        back.get()
    print("round_trip_us", (time.perf_counter() - start) / rounds * 1e6)
    there.put(tensor)
    child.join()


def drain(inbox, done, count):
    for _ in range(count):
        inbox.get()[0].item()
    done.put(1)


def stream():
    """Fresh tensors of 4 MiB, each put on a SimpleQueue as a user writes it."""
    context = mp.get_context("fork")
    inbox, done = context.SimpleQueue(), context.SimpleQueue()
    count, size = 100, 4 << 20
    child = context.Process(target=drain, args=(inbox, done, count))
    child.start()
    source = torch.ones(size // 4)
    start = time.perf_counter()
    for _ in range(count):
        inbox.put(source.clone())
    done.get()
    print("gb_per_s", count * size / (time.perf_counter() - start) / 1e9)
    child.join()


def nothing(_rank):
    pass


def spawn():
    start = time.perf_counter()
    mp.spawn(nothing, nprocs=2)
    print("two_us", (time.perf_counter() - start) * 1e6)


def train(model, x, y, steps, gate):
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    gate.wait()
    for step in range(steps):
        first = (step * 32) % (len(y) - 32)
        optimizer.zero_grad()
        criterion(model(x[first:first + 32]), y[first:first + 32]).backward()
        optimizer.step()


def hogwild():
    x = torch.randn(1797, 64).share_memory_()
    y = torch.randint(0, 10, (1797,)).share_memory_()
    context = mp.get_context("fork")
    steps = 3000
    for processes in (1, 2):
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        model.share_memory()
        gate = context.Barrier(processes + 1)
        workers = [context.Process(target=train, args=(model, x, y, steps, gate))
                   for _ in range(processes)]
        for worker in workers:
            worker.start()
        gate.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        print(f"steps_per_s_{processes}", processes * steps / (time.perf_counter() - start))


class Pairs(torch.utils.data.Dataset):
    def __init__(self, size):
        self.data = torch.randn(size, 10)
        self.labels = torch.randint(0, 2, (size,))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index], self.labels[index]


def article_worker(_rank, model, loader):
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for _ in range(10):
        for data, labels in loader:
            optimizer.zero_grad()
            criterion(model(data), labels).backward()
            optimizer.step()


def article():
    """Four spawned processes, Linear(10, 2), 1,000 samples, batch 32, 10 epochs."""
    start = time.perf_counter()
    context = mp.get_context("spawn")
    model = nn.Linear(10, 2)
    model.share_memory()
    loader = torch.utils.data.DataLoader(Pairs(1000), batch_size=32, shuffle=True)
    workers = [context.Process(target=article_worker, args=(rank, model, loader))
               for rank in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("seconds", time.perf_counter() - start)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "version":
        print("version", ".".join(torch.__version__.split("+")[0].split(".")[:2]))
    else:
        {"queue": queue, "stream": stream, "spawn": spawn, "hogwild": hogwild,
         "article": article}[sys.argv[1]]()
