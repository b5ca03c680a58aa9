"""Times a step of two ranks: one is late with its first gradient, and the other with its last. If the reductions run
while the backward pass continues, the step takes one delay. Otherwise it takes the sum of both delays."""

import re

from bench import harness

WORKER = harness.BIN / "bench/worker/overlap"
DELAY_MS = 300


def late_ranks(pairs):
    bench = harness.Benchmark(f"backward pass, 64 MiB of gradients, 2 ranks {DELAY_MS} ms late in different places", "ms",
                              "accel <= 1.1 of gloo")
    for _ in range(pairs):
        bench.add(gloo=_step("0", "sockets"), accel=_step("1", "shared memory"))
    return bench.summary()


def _step(shared_memory, medium):
    command = [harness.ACCEL, "launch", "--cpu", "--num_processes", "2", "--env", "OMP_NUM_THREADS=1", WORKER, DELAY_MS, 3]
    _, out = harness.wall(command, {"ACCEL_SHARED_MEMORY": shared_memory})
    return float(re.search(rf"step ([0-9.]+) ms over {medium}$", out, re.M).group(1))
