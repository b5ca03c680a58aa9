"""Linear regression with plain torch.distributed, as any torchrun script.

    accel launch --cpu --num_processes 2 examples/python/ddp.py
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    x = torch.randn(512, 4)
    y = x @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]]) + 0.25
    x, y = x[rank::world_size], y[rank::world_size]

    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()

    dist.all_reduce(loss.detach())
    if rank == 0:
        weights = ", ".join(f"{w:.3f}" for w in model.module.weight.detach().flatten())
        mean_loss = loss.item() / world_size
        print(f"{world_size} processes: loss {mean_loss:.6f}, weights {weights}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
