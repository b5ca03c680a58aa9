"""A sharded training step of two or four ranks on one host, one thread each, and its memory."""

import re

from bench import harness

WORKER = harness.BIN / "bench/worker/sharded_step"
PYTHON_WORKER = harness.ROOT / "bench/workers/sharded_step.py"
# Layers, width, batch, sequence, timed steps; 6.85 M and 13.7 M parameters.
STEPS = [(8, 256, 8, 64, 10), (4, 512, 8, 64, 10)]
# 77.6 M parameters.
MEMORY = (6, 1024, 1, 16, 2)
MOST_BYTES = {2: 10.5, 4: 6.5}


def compare(pairs):
    """Compares with data parallel training of the same program, and with torch's DDP, FSDP1 and FSDP2."""
    return [_times(pairs, *size) for size in STEPS] + [_memory(pairs, ranks) for ranks in MOST_BYTES]


def _times(pairs, layers, width, *rest):
    bench = harness.Benchmark(f"sharded step, 2 ranks, {layers} layers of width {width}", "us",
                              "accel <= 1.25 of accel_ddp, and below fsdp1 and fsdp2")
    for _ in range(pairs):
        row = {"accel_ddp": _accel("ddp", 2, layers, width, *rest)[0], "accel": _accel("full", 2, layers, width, *rest)[0]}
        for mode in ("ddp", "fsdp1", "fsdp2"):
            row["torch_" + mode] = _python(mode, 2, layers, width, *rest)[0]
        bench.add(**row)
    return bench.summary()


def _memory(pairs, ranks):
    bench = harness.Benchmark(f"peak memory of a sharded step, {ranks} ranks, 77.6 M parameters",
                              "bytes per parameter and rank", f"accel <= {MOST_BYTES[ranks]}")
    for _ in range(min(pairs, 2)):
        bench.add(accel=_accel("full", ranks, *MEMORY)[1], torch_fsdp1=_python("fsdp1", ranks, *MEMORY)[1],
                  torch_fsdp2=_python("fsdp2", ranks, *MEMORY)[1])
    return bench.summary()


def _accel(mode, ranks, *arguments):
    """Returns the time of a step and the peak. Raises an error if the worker has not trained in this mode."""
    out = _launch(ranks, WORKER, mode, *arguments)
    whole = int(re.search(rf"mode {mode}, .* whole between steps: (\d+) bytes", out).group(1))
    if (whole > 0) != (mode == "ddp"):
        raise RuntimeError(f"in mode {mode}, {whole} bytes of whole parameters were kept between steps")
    return _numbers(out)


def _python(mode, ranks, *arguments):
    return _numbers(_launch(ranks, "--python", harness.VENV / "python", PYTHON_WORKER, mode, *arguments))


def _launch(ranks, *program):
    return harness.wall([harness.ACCEL, "launch", "--cpu", "--num_processes", ranks, "--env", "OMP_NUM_THREADS=1", *program],
                        timeout=600)[1]


def _numbers(out):
    return float(re.search(r"step ([0-9.]+) us", out).group(1)), float(re.search(r"peak ([0-9.]+) bytes", out).group(1))
