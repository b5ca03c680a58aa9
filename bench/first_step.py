"""From exec to the end of the first training step of a small MLP."""

import re
import time

from bench import harness

WORKER = harness.BIN / "bench/worker/first_step"
PYTHON_WORKER = harness.ROOT / "bench/workers/first_step.py"


def _until_step(*command):
    """Times from exec to the end of the step, which the worker reports on the same clock."""
    begin = time.monotonic_ns()
    _, out = harness.wall(command)
    return (int(re.search(r"\d{6,}", out).group()) - begin) / 1e9


def exec_to_step(pairs):
    bench = harness.Benchmark("exec to first training step", "s", "accel_1 <= 0.4 s")
    launch = [harness.ACCEL, "launch", "--cpu", "--num_processes", "2"]
    torchrun = [*harness.TORCHRUN, "--nproc_per_node", "2"]
    python = harness.VENV / "python"
    for command in ([WORKER], [python, PYTHON_WORKER]):
        harness.wall(command)
    for _ in range(pairs):
        bench.add(python_1=_until_step(python, PYTHON_WORKER), accel_1=_until_step(WORKER),
                  torchrun_python_2=_until_step(*torchrun, PYTHON_WORKER), accel_2=_until_step(*launch, WORKER))
    return bench.summary()
