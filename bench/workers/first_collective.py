"""The peer of bench/worker/first_collective.cc, for torchrun: joins, all-reduces one float, exits.

With `--crash FILE`, rank 1 of the first generation writes the time to FILE and kills itself, and no rank joins. In
the next generation rank 0 prints how long ago that was. first_collective.cc kills itself only after a collective.
This program does not, because the next generation then did not meet within 120 s under torchrun 2.11 with its
default, static rendezvous.
"""

import datetime
import os
import signal
import sys
import time

entry = time.monotonic()
crash = sys.argv[2] if sys.argv[1:2] == ["--crash"] else None
if crash and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
    if os.environ["RANK"] == "1":
        time.sleep(1.5)
        with open(crash, "w") as file:
            file.write(str(time.monotonic_ns()))
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
value = torch.ones(1)
dist.all_reduce(value)
assert value.item() == dist.get_world_size()
if crash and dist.get_rank() == 0:
    killed = int(open(crash).read()) / 1e9
    print(f"since the kill: main {1e3 * (entry - killed):.1f} ms, first all-reduce {1e3 * (time.monotonic() - killed):.1f} ms",
          flush=True)
dist.destroy_process_group()
