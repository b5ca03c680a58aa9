"""The peer of bench/worker/gpu_step.cc: the same steps with Accelerate.

    gpu_step.py WIDTH LAYERS ROWS PRECISION STEPS [FOLDER]
"""

import os
import pathlib
import shutil
import statistics
import sys
import time

import torch
from accelerate import Accelerator

WARM_UP, BLOCKS = 10, 5


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def microseconds(body):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    body()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begin)


def time_of(step, steps):
    """The median of BLOCKS blocks of `steps` steps. The host waits for the GPU only between blocks."""
    for _ in range(WARM_UP):
        step()

    def block():
        for _ in range(steps):
            step()

    return statistics.median(microseconds(block) / steps for _ in range(BLOCKS))


def sync(folder):
    for path in pathlib.Path(folder).iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def time_save(accelerator, folder, step, plain):
    """Prints how much longer a step takes after save_state(), in the second save of the process."""
    for is_printed in (False, True):
        def save_and_step():
            accelerator.save_state(folder, safe_serialization=True)
            step()

        begin = time.perf_counter()
        taken = microseconds(save_and_step)
        sync(folder)
        durable = 1e6 * (time.perf_counter() - begin)
        shutil.rmtree(folder)
        if is_printed:
            print(f"stall {taken - plain:.0f}\ndurable {durable:.0f}")


def train(accelerator, width, layers, rows, steps, folder, name):
    torch.manual_seed(42)
    net = torch.nn.Sequential(*(Block(width) for _ in range(layers)))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=name == "fused")
    model, optimizer = accelerator.prepare(net, optimizer)
    torch.manual_seed(accelerator.process_index)
    x, y = (torch.randn(rows, width).to(accelerator.device) for _ in range(2))
    clips = False

    def step():
        optimizer.zero_grad()
        accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
        if clips:
            accelerator.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()

    plain = time_of(step, steps)
    clips = True
    clipped = time_of(step, steps)
    clips = False
    if accelerator.is_main_process:
        fused = int(bool(optimizer.param_groups[0]["fused"]))
        print(f"step_{name} {plain:.1f}\nclip_{name} {clipped:.1f}\nfused_{name} {fused}")
    if folder:
        time_save(accelerator, folder, step, plain)
    accelerator.free_memory()


def main():
    width, layers, rows, precision, steps, *folder = sys.argv[1:]
    accelerator = Accelerator(mixed_precision=precision)
    if accelerator.is_main_process:
        print(f"device {accelerator.device}")
    if accelerator.device.type == "cuda":
        # Saves in the last training only.
        train(accelerator, int(width), int(layers), int(rows), int(steps), "", "foreach")
        train(accelerator, int(width), int(layers), int(rows), int(steps), "".join(folder), "fused")
    accelerator.end_training()


main()
