"""The peer of bench/worker/first_step.cc, with Accelerate."""

import time

import accelerate
import torch


class Samples:
    def __init__(self):
        self.images, self.labels = torch.rand(64, 64), torch.arange(64) % 10

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


accelerator = accelerate.Accelerator(cpu=True)
mlp = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
model, optimizer, loader = accelerator.prepare(mlp, torch.optim.SGD(mlp.parameters(), 0.1),
                                               torch.utils.data.DataLoader(Samples(), batch_size=8, shuffle=True))
for data, target in loader:
    accelerator.backward(torch.nn.functional.cross_entropy(model(data), target))
    optimizer.step()
    optimizer.zero_grad()
    break
if accelerator.is_main_process:
    print(time.monotonic_ns(), flush=True)
accelerator.end_training()
