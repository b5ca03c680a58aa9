"""The peer of bench/worker/first_collective.cc, for torchrun: joins, all-reduces one float, exits.

With `--crash FILE`, in the first generation rank 1 writes the time to FILE and kills itself after the first collective;
in the next one rank 0 prints how long ago that was.
"""

import datetime
import os
import signal
import sys
import time

entry = time.monotonic()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

crash = sys.argv[2] if sys.argv[1:2] == ["--crash"] else None
first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
value = torch.ones(1)
dist.all_reduce(value)
assert value.item() == dist.get_world_size()
if crash and first:
    if dist.get_rank() == 1:
        with open(crash, "w") as file:
            file.write(str(time.monotonic_ns()))
        os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()
if crash and dist.get_rank() == 0:
    killed = int(open(crash).read()) / 1e9
    print(f"re-exec {entry - killed:.4f} first all-reduce {time.monotonic() - killed:.4f}", flush=True)
dist.destroy_process_group()
