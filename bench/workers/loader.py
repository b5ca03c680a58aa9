"""The peer of bench/worker/loader.cc: torch's DataLoader, prepared by Accelerate. Takes the same arguments and prints
the same output.

`write FOLDER` writes the images of Debian's dataset-fashion-mnist as PNG files. `persistent` as the last argument keeps
the processes that read from epoch to epoch.
"""

import gzip
import json
import multiprocessing
import pathlib
import resource
import sys
import time

import numpy
from PIL import Image

SAMPLES = 20_000
FASHION_MNIST = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"


def write(folder):
    with gzip.open(FASHION_MNIST) as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    for i in range(SAMPLES):
        Image.fromarray(pixels[i]).save(pathlib.Path(folder) / f"{i}.png")


def decode(path):
    with Image.open(path) as image:
        return numpy.array(image)


class Files:
    def __init__(self, folder):
        self.folder = folder

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        pixels = torch.from_numpy(decode(f"{self.folder}/{index}.png"))
        return pixels.unsqueeze(0).float().div_(255), index % 10


class Ready:
    def __init__(self):
        self.images, self.labels = torch.rand(SAMPLES, 784), torch.arange(SAMPLES) % 10

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measure(epoch, kept=lambda: False):
    helpers = epoch()
    kept = kept()
    cpu, begin = cpu_seconds(), time.monotonic()
    epoch()
    print(json.dumps({"seconds": time.monotonic() - begin, "cpu_seconds": cpu_seconds() - cpu, "helpers": helpers,
                      "kept": kept}), flush=True)


def load(dataset, workers, persistent):
    loader = accelerate.Accelerator(cpu=True).prepare(torch.utils.data.DataLoader(
        dataset, batch_size=64, num_workers=workers, persistent_workers=persistent))

    def epoch():
        """Returns the number of worker processes."""
        samples = helpers = 0
        for images, _ in loader:
            if samples == 0:
                helpers = len(multiprocessing.active_children())
            samples += len(images)
        assert samples == SAMPLES
        return helpers

    # Reports whether the workers outlive an epoch.
    measure(epoch, lambda: len(multiprocessing.active_children()) > 0)


def decode_all(folder):
    for i in range(SAMPLES):
        decode(f"{folder}/{i}.png")


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "write":
        write(*arguments)
    elif kind == "decode":
        measure(lambda: decode_all(*arguments))
    else:
        import accelerate
        import torch

        torch.set_num_threads(1)
        load(Ready() if kind == "tensors" else Files(arguments[1]), int(arguments[0]), arguments[-1] == "persistent")
