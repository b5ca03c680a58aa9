"""Fashion-MNIST with stock Hugging Face Accelerate, on one process or many.

    accel launch --cpu --num_processes 2 examples/python/train_accelerate.py
"""

import argparse
import gzip

import numpy
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def read(path, offset):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)


def load(folder, split, limit=None):
    images = read(f"{folder}/{split}-images-idx3-ubyte.gz", offset=16).reshape(-1, 784)[:limit]
    labels = read(f"{folder}/{split}-labels-idx1-ubyte.gz", offset=8)[:limit]
    x = (torch.from_numpy(images.astype(numpy.float32)) / 255 - 0.286) / 0.353
    return TensorDataset(x, torch.from_numpy(labels.astype(numpy.int64)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--train_samples", type=int, default=20000)
    arguments = parser.parse_args()

    accelerator = Accelerator()
    torch.manual_seed(42)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    train_data = load(arguments.data, "train", arguments.train_samples)
    train_loader = DataLoader(train_data, batch_size=64, shuffle=True)
    test_loader = DataLoader(load(arguments.data, "t10k"), batch_size=500)
    model, optimizer, train_loader, test_loader = accelerator.prepare(
        model, optimizer, train_loader, test_loader
    )

    for epoch in range(1, arguments.epochs + 1):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(model(x), y))
            optimizer.step()

        model.eval()
        correct = samples = 0
        for x, y in test_loader:
            with torch.no_grad():
                guesses, labels = accelerator.gather_for_metrics((model(x).argmax(1), y))
            correct += (guesses == labels).sum().item()
            samples += len(labels)
        accuracy = f"test accuracy {correct / samples:.4f} ({samples} samples)"
        accelerator.print(f"epoch {epoch}: {accuracy}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
