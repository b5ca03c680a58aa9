"""Measures what the death of an agent costs its running job. The agent of 8 workers is killed with `kill -9`, and the
time runs until the next agent has adopted them. The peer's launcher is killed in the same way."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from bench import harness

WORKERS = 8
# Prints numbered lines until the file `end` exists.
SCRIPT = """#!/bin/bash
echo $$ > pid.$RANK.new && mv pid.$RANK.new pid.$RANK
i=0
while [ ! -e end ]; do i=$((i + 1)); echo "line $i"; sleep 0.005; done
echo $i > last.$RANK
"""


def adopt(pairs):
    bench = harness.Benchmark("agent kill -9 under 8 workers: until the next agent reports them", "s, processes, bytes",
                              "<= 1 s, 0 workers disturbed, 0 bytes lost")
    for _ in range(pairs):
        bench.add(**_accel(), torchrun_orphans=torchrun_orphans())
    return bench.summary()


def _wait(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("what was waited for did not happen")
        time.sleep(0.001)


def _script(folder):
    path = pathlib.Path(folder) / "worker.sh"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def _pids(folder):
    files = [pathlib.Path(folder) / f"pid.{rank}" for rank in range(WORKERS)]
    _wait(lambda: all(file.exists() for file in files))
    return [int(file.read_text()) for file in files]


def _start_times(pids):
    """Returns each living process's start time, by its pid."""
    found = {}
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            found[pid] = fields[19]
    return found


def _accel():
    with tempfile.TemporaryDirectory() as folder, harness.Cluster() as cluster:
        env = {**os.environ, **cluster.env}

        def accel(*arguments):
            return subprocess.run([harness.ACCEL, *arguments], env=env, cwd=folder, check=True, capture_output=True).stdout.decode()

        def status():
            return json.loads(accel("status", job, "--json"))

        job = accel("submit", "--cpu", "--processes_per_node", str(WORKERS), str(_script(folder))).split()[0]
        pids = _pids(folder)
        _wait(lambda: status()["phase"] == "RUNNING")
        before = _start_times(pids)
        seconds = cluster.restart_agent(0)
        disturbed = sum(before[pid] != _start_times([pid]).get(pid) for pid in pids)
        (pathlib.Path(folder) / "end").touch()
        _wait(lambda: status()["phase"] in ("SUCCEEDED", "FAILED"))
        done = status()
        if done["phase"] != "SUCCEEDED" or len(done["generations"]) != 1:
            raise RuntimeError(f"the job did not continue: {done}")
        lost = 0
        for rank in range(WORKERS):
            last = int((pathlib.Path(folder) / f"last.{rank}").read_text())
            whole = "".join(f"line {i}\n" for i in range(1, last + 1))
            lost += whole != "".join(line.rpartition("] ")[2] + "\n" for line in accel("logs", job, "--rank", str(rank)).splitlines())
        return {"accel_adopted_s": seconds, "accel_disturbed": disturbed, "accel_ranks_with_lost_bytes": lost}


def torchrun_orphans():
    """Returns how many of torchrun's workers are left after a kill of torchrun."""
    with tempfile.TemporaryDirectory() as folder:
        launcher = subprocess.Popen([*map(str, harness.TORCHRUN), "--nproc_per_node", str(WORKERS), "--no_python",
                                     str(_script(folder))], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pids = _pids(folder)
        launcher.kill()
        launcher.wait()
        orphans = _start_times(pids)
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
        return len(orphans)
