"""The peer of bench/worker/reduce_scatter.cc, with torch's Gloo.

    reduce_scatter.py MEGABYTES CALLS
"""

import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist

WARM_UP = 3


def sent_over_loopback():
    return int(pathlib.Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


def main():
    megabytes, calls = float(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    share = int(megabytes * 1e6 / 4 / size)
    part, whole = torch.empty(share), torch.full((share * size,), dist.get_rank() + 1.0)
    times = []
    for call in range(-WARM_UP, calls):
        dist.barrier()
        if call == 0:
            sent = sent_over_loopback()
        begin = time.perf_counter()
        dist.reduce_scatter_tensor(part, whole)
        if call >= 0:
            times.append(time.perf_counter() - begin)
    dist.barrier()
    sent = sent_over_loopback() - sent
    assert part[-1].item() == size * (size + 1) / 2
    if dist.get_rank() == 0:
        print(f"call {1e6 * statistics.median(times):.1f} us\nsent {sent / calls:.0f} bytes", flush=True)
    dist.destroy_process_group()


main()
