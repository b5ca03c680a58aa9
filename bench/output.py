"""Measures how fast the output of a worker that never stops printing is read, and how much disk the output takes."""

import os
import pathlib
import subprocess
import sys
import tempfile

from bench import harness

TOTAL = 2_000_000_000
WORKER = harness.ROOT / "bench/workers/flood.py"


def flood(pairs):
    """Compares with torchrun. Its `--tee 3` writes to a file and to the terminal, here /dev/null; `--redirects 3`
    writes to a file only."""
    what = "one worker that prints 2 GB without a pause"
    rate = harness.Benchmark(what, "GB/s", "accel >= 0.5")
    disk = harness.Benchmark(what, "MB on disk", "accel <= 67.2 (64 MiB)")
    slowest = harness.Benchmark(what, "slowest write in ms", "nothing; a worker that is blocked shows here")
    with harness.Cluster() as cluster:
        for _ in range(pairs):
            rows = {}
            for name, run in (("accel", _submit), ("tee", _tee), ("redirects", _redirects)):
                with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
                    place = pathlib.Path(folder)
                    size = _size(run(cluster, place))
                    written, seconds, longest = map(float, (place / "report").read_text().split())
                    rows[name] = (written / seconds / 1e9, size / 1e6, longest * 1e3)
            for i, bench in enumerate((rate, disk, slowest)):
                bench.add(**{name: row[i] for name, row in rows.items()})
    return [bench.summary() for bench in (rate, disk, slowest)]


def _worker(place):
    return [sys.executable, WORKER, place / "report", str(TOTAL)]


def _submit(cluster, place):
    _, out = harness.wall([harness.ACCEL, "submit", "--wait", "--cpu", "--", *_worker(place)], cluster.env)
    return pathlib.Path(cluster.env["HOME"]) / "n0/jobs" / out.split()[0]


def _torchrun(place, *flags):
    logs = place / "logs"
    command = [*harness.TORCHRUN, "--nproc_per_node", "1", "--no_python", "--log_dir", logs, *flags, *_worker(place)]
    subprocess.run([str(part) for part in command], env=os.environ, check=True, timeout=300, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return logs


def _tee(_cluster, place):
    return _torchrun(place, "--tee", "3")


def _redirects(_cluster, place):
    return _torchrun(place, "--redirects", "3")


def _size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
