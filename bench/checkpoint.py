"""Saving 1 GiB of state, and loading 1 GiB of safetensors into existing parameters."""

import pathlib
import statistics
import tempfile

from bench import harness

WORKER = [harness.BIN / "bench/worker/checkpoint"]
PYTHON_WORKER = [harness.VENV / "python", harness.ROOT / "bench/workers/checkpoint.py"]
THREADS = {"OMP_NUM_THREADS": "2"}


def _run(worker, mode, path):
    _, out = harness.wall([*worker, mode, path], THREADS, timeout=300)
    return {key: float(value) for key, value in (line.split() for line in out.splitlines())}


def save(pairs):
    """The columns are:

    - one memcpy of the same bytes into memory that was touched before;
    - how long save_state() blocks training in the first save of a process, which touches the memory of its copy for the
      first time, and in the second save;
    - the seconds from the call of save_state() until wait_for_save() returns;
    - a direct write of as many bytes to the same folder."""
    results = []
    with tempfile.TemporaryDirectory(prefix="accel-bench-", dir=harness.DISK) as folder:
        target = pathlib.Path(folder) / "checkpoint"
        for mode, what in (("save", "parameters"), ("adam", "parameters and Adam's moments")):
            bench = harness.Benchmark(f"save_state of 1 GiB of {what}", "s",
                                      "stall <= 1.3 memcpy; direct write >= 0.7 of durable")
            for _ in range(pairs):
                accel = _run(WORKER, mode, target)
                row = {"memcpy": accel["next_memcpy"], "stall": accel["next_stall"], "first_stall": accel["first_stall"],
                       "direct": accel["direct"], "durable": accel["next_durable"]}
                if mode == "save":
                    python = _run(PYTHON_WORKER, mode, target)
                    row |= {"python_stall": python["next_stall"], "python_durable": python["next_durable"]}
                bench.add(**row)
            ratio = statistics.median(row["direct"] / row["durable"] for row in bench.rows)
            print(f"  durable at {ratio:.0%} of the direct write rate (median of pairs)", flush=True)
            results.append(bench.summary())
    return results


def load(pairs):
    """A cold load reads the file from the disk, because posix_fadvise(POSIX_FADV_DONTNEED) has dropped its pages. A
    warm load is the second one after that."""
    with tempfile.TemporaryDirectory(prefix="accel-bench-", dir=harness.DISK) as folder:
        file = pathlib.Path(folder) / "model.safetensors"
        harness.wall([harness.VENV / "python", "-c",
                      "import os, sys, torch; from safetensors.torch import save_file\n"
                      "save_file({f'w{i}': torch.rand(2048, 2048) for i in range(64)}, sys.argv[1])\n"
                      "os.fsync(os.open(sys.argv[1], os.O_RDONLY))", file])
        results = []
        rows = []
        for _ in range(pairs):
            rows.append((_run(PYTHON_WORKER, "load", file), _run(WORKER, "load", file)))
        for kind in ("warm", "cold"):
            bench = harness.Benchmark(f"load 1 GiB of safetensors into existing parameters, {kind}", "s",
                                      "<= 1.0 of Python's time")
            for python, accel in rows:
                bench.add(python=python[kind], accel=accel[kind])
            results.append(bench.summary())
    return results
