"""Sharded training on one host, one thread per rank: a step, its memory, its reduce-scatter, and its checkpoints."""

import os
import pathlib
import re
import tempfile

from bench import harness

BIN = harness.BIN / "bench/worker"
PYTHON = harness.ROOT / "bench/workers"
# Layers, width, batch, sequence, timed steps; 6.85 M and 13.7 M parameters.
STEPS = [(8, 256, 8, 64, 10), (4, 512, 8, 64, 10)]
# 77.6 M parameters.
MEMORY = (6, 1024, 1, 16, 2)
MOST_BYTES = {2: 10.5, 4: 6.5}
# Layers and width of a model that has 932 MB with AdamW's state.
SAVED = (6, 1024)


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
    out = _launch(ranks, BIN / "sharded_step", mode, *arguments)
    whole = int(re.search(rf"mode {mode}, .* whole between steps: (\d+) bytes", out).group(1))
    if (whole > 0) != (mode == "ddp"):
        raise RuntimeError(f"in mode {mode}, {whole} bytes of whole parameters were kept between steps")
    return _numbers(out)


def _python(mode, ranks, *arguments):
    return _numbers(_launch_python(ranks, "sharded_step.py", mode, *arguments))


def _launch(ranks, *program):
    return harness.wall([harness.ACCEL, "launch", "--cpu", "--num_processes", ranks, "--env", "OMP_NUM_THREADS=1", *program],
                        timeout=600)[1]


def _launch_python(ranks, worker, *arguments):
    return _launch(ranks, "--python", harness.VENV / "python", PYTHON / worker, *arguments)


def _numbers(out):
    return float(re.search(r"step ([0-9.]+) us", out).group(1)), float(re.search(r"peak ([0-9.]+) bytes", out).group(1))


def _values(out):
    """Returns the numbers of a worker that prints a name and a number per line."""
    return {name: float(number) for name, number in re.findall(r"(\w+) ([0-9.]+)(?: us| bytes)?$", out, re.M)}


def reduce_scatter(pairs):
    """Compares with torch's Gloo. `sent` is what crossed the loopback interface, of all ranks."""
    results = []
    for ranks in (2, 4):
        time = harness.Benchmark(f"reduce-scatter of 8.4 MB, {ranks} ranks over sockets", "us", ">= 1.7 times Gloo's rate")
        rows = []
        for _ in range(pairs):
            rows.append((_values(_launch_python(ranks, "reduce_scatter.py", 8.4, 20)),
                         _values(_launch(ranks, "--env", "ACCEL_SHARED_MEMORY=0", BIN / "reduce_scatter", 8.4, 20)),
                         _values(_launch(ranks, BIN / "reduce_scatter", 8.4, 20))))
            time.add(gloo=rows[-1][0]["call"], accel=rows[-1][1]["call"], accel_shared_memory=rows[-1][2]["call"])
        sent = harness.Benchmark(f"reduce-scatter of 8.4 MB, {ranks} ranks over sockets: sent", "MB", "half of Gloo's")
        for gloo, accel, _ in rows:
            sent.add(gloo=gloo["sent"] / 1e6, accel=accel["sent"] / 1e6)
        results += [time.summary(), sent.summary()]
    return results


def save(pairs):
    """Measures a save of 932 MB at 2 ranks, and its load at 4. The peer is torch's DCP with FSDP2.

    The figures of the save are the time in which training is blocked, and the time until the checkpoint is durable. DCP
    blocks until then. Both checkpoints are loaded from the disk and from the page cache, because accel's saves bypass
    the page cache and DCP's saves fill it. A full checkpoint of the same state must be resumed with about the memory
    that a checkpoint in parts takes."""
    stall, durable = (harness.Benchmark(f"sharded save of 932 MB, 2 ranks: {what}", "s", goal) for what, goal in (
        ("training stalls", "<= 0.1 s"), ("durable", "no later than DCP's")))
    loads = {is_cached: harness.Benchmark(f"load of 932 MB that 2 ranks saved, 4 ranks, from the {where}", "s",
                                          "<= 0.8 times DCP's")
             for is_cached, where in ((False, "disk"), (True, "page cache"))}
    resumed = harness.Benchmark("resume from 932 MB, 4 ranks, built without memory: highest memory of a rank", "MB",
                                "full <= 1.1 times parts")
    with tempfile.TemporaryDirectory(prefix="accel-bench-", dir=harness.DISK) as folder:
        ours, theirs, full = (pathlib.Path(folder, name) for name in ("accel", "dcp", "full"))
        _launch(2, BIN / "sharded_save", "save_full", full, *SAVED)
        for _ in range(pairs):
            dcp = _values(_launch_python(2, "sharded_save.py", "save", theirs, *SAVED))
            accel = _values(_launch(2, BIN / "sharded_save", "save", ours, *SAVED))
            stall.add(dcp=dcp["stall"], accel=accel["stall"])
            durable.add(dcp=dcp["durable"], accel=accel["durable"])
            for is_cached, load in loads.items():
                for saved in (ours, theirs):
                    _cache_files(saved, is_cached)
                load.add(dcp=_values(_launch_python(4, "sharded_save.py", "load", theirs, *SAVED))["load"],
                         accel=_values(_launch(4, BIN / "sharded_save", "load", ours, *SAVED))["load"])
            resumed.add(**{form: _values(_launch(4, BIN / "sharded_save", "resume", saved, *SAVED))["peak"] / 1e6
                           for form, saved in (("parts", ours), ("full", full))})
    return [bench.summary() for bench in (stall, durable, *loads.values(), resumed)]


def _cache_files(folder, is_cached):
    """Brings the files of a folder into the page cache, or removes them from it."""
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb", buffering=0) as opened:
                os.fsync(opened.fileno())  # Pages can be removed from the cache only after they are written.
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while is_cached and opened.read(4 << 20):
                    pass
