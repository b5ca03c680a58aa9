"""One data parallel training step of two ranks on one host, one thread each, at three sizes."""

import re

from bench import harness

WORKER = harness.BIN / "bench/worker/ddp_step"
PYTHON_WORKER = harness.ROOT / "bench/workers/ddp_step.py"
# Width, batch, timed steps; gradients of 36 kB, 2.1 MB, 8.4 MB.
SIZES = [(64, 8, 500), (512, 64, 200), (1024, 256, 100)]
GOALS = {64: 0.5, 512: 0.75, 1024: 0.92}


def compare(pairs):
    """Compares with Python's Accelerate over Gloo, and with the same program with shared memory switched off."""
    return [_compare(pairs, *size) for size in SIZES]


def _compare(pairs, width, batch, steps):
    bench = harness.Benchmark(f"DDP step, 2 ranks, width {width}, batch {batch}", "us",
                              f"accel <= {GOALS[width]} of python")
    for _ in range(pairs):
        bench.add(python=_step(["--python", harness.VENV / "python", PYTHON_WORKER], width, batch, steps),
                  accel=_accel("1", "shared memory", width, batch, steps),
                  accel_gloo=_accel("0", "sockets", width, batch, steps))
    return bench.summary()


def _accel(shared_memory, transport, *arguments):
    """Times a step over this transport. Raises an error if the workers report another transport."""
    return _step(["--env", f"ACCEL_SHARED_MEMORY={shared_memory}", WORKER], *arguments, transports=[transport] * 2)


def _step(program, *arguments, transports=()):
    _, out = harness.wall([harness.ACCEL, "launch", "--cpu", "--num_processes", "2", "--env", "OMP_NUM_THREADS=1", *program,
                           *arguments])
    found = re.findall(r"transport (.+)", out)
    if found != list(transports):
        raise RuntimeError(f"this is to measure {transports}, and the workers used {found}")
    return float(re.search(r"step ([0-9.]+) us", out).group(1))
