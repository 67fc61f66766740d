"""PyTorch's DistributedDataParallel around a module whose loss is Wengert's: two processes, each with its rows.

pip install '.[torch]'
python examples/many_machines/data_parallel_torch.py
"""

from __future__ import annotations

import socket

import numpy as np
import torch
from torch import distributed, multiprocessing
from torch.nn.parallel import DistributedDataParallel

import wengert as wg

WORKERS = 2
loss = wg.function(lambda w, X: wg.mean(wg.log(1 + wg.exp(X @ w))))


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 5, dtype=torch.float64))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return loss(self.w, X)


def work(rank: int, address: str) -> None:
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=WORKERS)
    X = torch.tensor(np.random.default_rng(0).normal(size=(64, 5)))
    layer = DistributedDataParallel(Layer())
    layer(X[rank::WORKERS]).backward()  # the gradients of all processes are averaged here
    alone = Layer()
    alone(X).backward()
    torch.testing.assert_close(layer.module.w.grad, alone.w.grad, rtol=1e-12, atol=1e-12)
    distributed.destroy_process_group()


def main() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    multiprocessing.spawn(work, (f"tcp://127.0.0.1:{port}",), nprocs=WORKERS)
    print("the same as in one process")


if __name__ == "__main__":
    main()
