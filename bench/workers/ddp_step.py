"""The peer of bench/worker/ddp_step.cc: the same steps with Accelerate.

    ddp_step.py WIDTH BATCH STEPS
"""

import statistics
import sys
import time

import torch
from accelerate import Accelerator

WARM_UP = 20


def main():
    width, batch, steps = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    accelerator = Accelerator()
    torch.manual_seed(42)
    net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
                              torch.nn.Linear(width, 10))
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01))
    torch.manual_seed(accelerator.process_index)
    x, y = torch.randn(batch, width), torch.randint(10, (batch,))

    times = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        times.append(time.perf_counter() - begin)
    if accelerator.is_main_process:
        print(f"step {1e6 * statistics.median(times[WARM_UP:]):.1f} us", flush=True)
    accelerator.end_training()


main()
