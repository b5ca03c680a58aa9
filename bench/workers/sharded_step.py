"""The peer of bench/worker/sharded_step.cc: the same model and steps with torch's DDP, FSDP1 or FSDP2.

    sharded_step.py MODE LAYERS WIDTH BATCH SEQUENCE STEPS

MODE is ddp, fsdp1 or fsdp2.
"""

import functools
import re
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

WARM_UP = 3
VOCABULARY = 1024
HEADS = 4


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.input, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.input(self.norm1(x)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind()
        h = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class Network(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, width)
        self.layers = torch.nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = torch.nn.Linear(width, VOCABULARY)

    def forward(self, x):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def memory(key):
    """Returns a line of /proc/self/status, in bytes."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return 1024 * int(re.search(rf"^{key}:\s+(\d+)", status.read(), re.M).group(1))


def sharded(mode, net):
    if mode == "ddp":
        return torch.nn.parallel.DistributedDataParallel(net)
    if mode == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        return FullyShardedDataParallel(net, device_id=torch.device("cpu"), use_orig_params=True,
                                        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy,
                                                                           transformer_layer_cls={Layer}))
    from torch.distributed.fsdp import fully_shard
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in net.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def main():
    mode, *numbers = sys.argv[1:]
    layers, width, batch, sequence, steps = map(int, numbers)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    before = memory("VmRSS")
    torch.manual_seed(42)
    net = Network(layers, width)
    count = sum(parameter.numel() for parameter in net.parameters())
    model = sharded(mode, net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(dist.get_rank())
    x = torch.randint(VOCABULARY, (batch, sequence))
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as refs:
        refs.write("5")  # The peak from here on.
    times = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    if dist.get_rank() == 0:
        print(f"step {1e6 * statistics.median(times[WARM_UP:]):.1f} us")
        print(f"peak {(memory('VmHWM') - before) / count:.2f} bytes per parameter", flush=True)
    dist.destroy_process_group()


main()
