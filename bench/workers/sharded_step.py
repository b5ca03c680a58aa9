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
from transformer import VOCABULARY, Layer, Network, shard

WARM_UP = 3


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
    return shard(net, dist.init_device_mesh("cpu", (dist.get_world_size(),)))


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
        refs.write("5")  # Resets the peak of resident memory, so that it counts from here on.
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
