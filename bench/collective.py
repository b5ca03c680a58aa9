"""Times from the command to the first collective, and from a worker's death to the first collective after it."""

import pathlib
import re
import tempfile

from bench import harness

WORKER = harness.BIN / "bench/worker/first_collective"
PYTHON_WORKER = harness.ROOT / "bench/workers/first_collective.py"


def first(pairs):
    bench = harness.Benchmark("2 ranks to the first Gloo all-reduce and exit", "s", "<= 0.45 s")
    accel = [harness.ACCEL, "launch", "--cpu", "--num_processes", "2"]
    torchrun = [*harness.TORCHRUN, "--nproc_per_node", "2"]
    harness.wall([*accel, WORKER])
    harness.wall([*torchrun, PYTHON_WORKER])
    for _ in range(pairs):
        bench.add(accel_cpp=harness.wall([*accel, WORKER])[0],
                  torchrun_python=harness.wall([*torchrun, PYTHON_WORKER])[0],
                  torchrun_cpp=harness.wall([*torchrun, "--no_python", WORKER])[0],
                  accel_python=harness.wall([*accel, "--python", harness.VENV / "python", PYTHON_WORKER])[0])
    return bench.summary()


def restart(pairs):
    bench = harness.Benchmark("SIGKILL of a worker to the first collective of the next generation", "s", "<= 0.45 s")
    for _ in range(pairs):
        bench.add(accel_cpp=_recovery([harness.ACCEL, "launch", "--cpu", "--num_processes", "2", "--max_restarts", "1",
                                       WORKER]),
                  torchrun_python=_recovery([*harness.TORCHRUN, "--nproc_per_node", "2", "--max_restarts", "1",
                                             PYTHON_WORKER]))
    return bench.summary()


def _recovery(command):
    """Uses the workers' clock: rank 1 records the time and kills itself; after the restart rank 0 prints the
    time since then."""
    with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
        _, out = harness.wall([*command, "--crash", pathlib.Path(folder) / "time"])
    return float(re.search(r"first all-reduce ([0-9.]+) ms", out).group(1)) / 1000
