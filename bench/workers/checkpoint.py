"""The peer of bench/worker/checkpoint.cc, with Accelerate and safetensors."""

import os
import pathlib
import shutil
import sys
import time

import torch
from safetensors.torch import load_file

WIDTH, MATRICES = 2048, 64


class Matrices(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(MATRICES):
            self.register_parameter(f"w{i}", torch.nn.Parameter(torch.ones(WIDTH, WIDTH)))


def seconds(body):
    begin = time.perf_counter()
    body()
    return time.perf_counter() - begin


def sync(folder):
    for path in pathlib.Path(folder).iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def save(folder):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    accelerator.prepare(Matrices())
    for which in ("first", "next"):
        begin = time.perf_counter()
        stall = seconds(lambda: accelerator.save_state(folder, safe_serialization=True))
        sync(folder)
        print(f"{which}_stall {stall:.4f}\n{which}_durable {time.perf_counter() - begin:.4f}")
        shutil.rmtree(folder)


def load(file):
    net = Matrices()
    fd = os.open(file, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)

    def once():
        state = load_file(file)
        with torch.no_grad():
            for name, parameter in net.named_parameters():
                parameter.copy_(state[name])

    print(f"cold {seconds(once):.4f}")
    once()
    print(f"warm {seconds(once):.4f}")


{"save": save, "load": load}[sys.argv[1]](sys.argv[2])
