"""Samples per second out of a prepared data loader: sequential, batches of 64, in one process."""

import json
import statistics
import tempfile

from bench import harness

WORKER = harness.BIN / "bench/worker/loader"
PYTHON = [harness.VENV / "python", harness.ROOT / "bench/workers/loader.py"]
SAMPLES = 20_000


def _epoch(command, *arguments):
    return json.loads(harness.wall([*command, *arguments], timeout=300)[1])


def _rate(command, kind, workers, *arguments):
    """Returns samples per second. Raises an error if the loader had other workers than requested."""
    epoch = _epoch(command, kind, workers, *arguments)
    asked = (workers, "persistent" in arguments)
    if (epoch["helpers"], epoch.get("kept", False)) != asked:
        raise RuntimeError(f"this is to measure (workers, kept) = {asked}, and the loader had {epoch}")
    return SAMPLES / epoch["seconds"]


def _ratios(bench, pairs):
    for ours, theirs in pairs:
        ratio = statistics.median(row[ours] / row[theirs] for row in bench.rows)
        print(f"  {ours} / {theirs}: {ratio:.2f} (median of pairs)", flush=True)


def tensors(pairs):
    bench = harness.Benchmark("loader, tensors ready (784 floats)", "samples/s",
                              ">= 8 times Python's with 2 workers each")
    for _ in range(pairs):
        bench.add(python_2=_rate(PYTHON, "tensors", 2), accel_2=_rate([WORKER], "tensors", 2),
                  python_2_persistent=_rate(PYTHON, "tensors", 2, "persistent"),
                  python_0=_rate(PYTHON, "tensors", 0), accel_0=_rate([WORKER], "tensors", 0))
    result = bench.summary()
    _ratios(bench, [("accel_2", "python_2_persistent"), ("accel_0", "python_0")])
    return result


def png(pairs):
    bench = harness.Benchmark("loader, 28x28 PNG files decoded", "samples/s", ">= 1.2 times Python's with 2 workers each")
    with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
        harness.wall([*PYTHON, "write", folder])
        for _ in range(pairs):
            bench.add(python_2=_rate(PYTHON, "png", 2, folder), accel_2=_rate([WORKER], "png", 2, folder),
                      python_2_persistent=_rate(PYTHON, "png", 2, folder, "persistent"),
                      python_0=_rate(PYTHON, "png", 0, folder), accel_0=_rate([WORKER], "png", 0, folder))
        result = bench.summary()
        _ratios(bench, [("accel_2", "python_2_persistent"), ("accel_0", "python_0")])
        shares = harness.Benchmark("reading and decoding alone, as part of the CPU time of such an epoch", "s", "reported")
        for _ in range(pairs):
            for name, command in (("accel", [WORKER]), ("python", PYTHON)):
                alone = _epoch(command, "decode", folder)["cpu_seconds"]
                epoch = _epoch(command, "png", 0, folder)["cpu_seconds"]
                shares.add(**{f"{name}_decode": alone, f"{name}_epoch": epoch, f"{name}_share": alone / epoch})
        medians = {key: statistics.median(shares.column(key)) for key in ("accel_share", "python_share")}
        print("  median " + "  ".join(f"{key} {value:.2f}" for key, value in medians.items()), flush=True)
    return {**result, "decode": {"rows": shares.rows, "medians": medians}}


def compare(pairs):
    return [tensors(pairs), png(pairs)]
