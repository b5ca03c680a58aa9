"""Measures what a coordinator bears: durable submits, short jobs, and its own death with jobs in its store."""

import os
import pathlib
import signal
import tempfile
import time

from bench import harness

LOAD = harness.BIN / "bench/control/submit_load"
CLIENTS = 8
QUEUED = 10_000  # The most that a coordinator keeps waiting.
MEASURED = 2_000
SHORT_JOBS = 600


def _load(cluster, jobs, nodes):
    """Submits jobs from all clients at the same time. Returns the number that was accepted per second."""
    token = (pathlib.Path(cluster.env["HOME"]) / ".config/accel/token").read_text().strip()
    return float(harness.wall([LOAD, cluster.env["ACCEL_COORDINATOR"], token, CLIENTS, jobs, nodes])[1])


def submits(pairs):
    bench = harness.Benchmark(f"durable submits per second, {CLIENTS} clients: empty queue, and up to {QUEUED} queued",
                              "1/s", ">= 2000 in both; Slurm 550")
    for _ in range(pairs):
        with harness.Cluster(agents=1) as cluster:
            # The jobs need more nodes than there are, so they remain in the queue.
            empty = _load(cluster, MEASURED, 2)
            _load(cluster, QUEUED - 2 * MEASURED, 2)
            bench.add(accel_empty=empty, accel_full=_load(cluster, MEASURED, 2))
    return bench.summary()


def completions(pairs):
    bench = harness.Benchmark(f"{SHORT_JOBS} jobs of /bin/true, completed per second", "1/s", ">= 300; Slurm 32")
    for _ in range(pairs):
        with harness.Cluster(agents=1) as cluster:
            begin = time.monotonic()
            _load(cluster, SHORT_JOBS, 1)
            while harness.wall([harness.ACCEL, "status"], cluster.env)[1].count(" SUCCEEDED ") < SHORT_JOBS:
                if time.monotonic() > begin + 300:
                    raise RuntimeError("the jobs did not end")
            bench.add(accel=SHORT_JOBS / (time.monotonic() - begin))
    return bench.summary()


def recover(pairs):
    bench = harness.Benchmark("coordinator kill -9 with 1,000 jobs in its store, until it serves a call", "s", "<= 0.5 s")
    for _ in range(pairs):
        with harness.Cluster(agents=1) as cluster:
            _load(cluster, 1_000, 2)
            bench.add(accel=cluster.restart_coordinator())
    return bench.summary()


def node_loss(pairs):
    bench = harness.Benchmark("a node of three falls silent: until the survivors run the next generation", "s",
                              "<= 3.8 s; torchrun more than 60 s")
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder, harness.Cluster(agents=3) as cluster:
            worker = pathlib.Path(folder) / "worker.sh"
            worker.write_text(f"#!/bin/bash\ntrap '' TERM\ntouch {folder}/up.$WORLD_SIZE.$RANK\n"
                              f"until [ -e {folder}/end ]; do sleep 0.05; done\n")
            worker.chmod(0o755)
            harness.wall([harness.ACCEL, "submit", "--cpu", "--nodes", "2:3", "--processes_per_node", 1, worker], cluster.env)
            _await_ranks(folder, 3)
            # The host of the last node is gone with everything on it.
            lost = [cluster.agent_pids[2], *harness.children(cluster.agent_pids[2])]
            begin = time.monotonic()
            for pid in lost:
                os.kill(pid, signal.SIGKILL)
            _await_ranks(folder, 2)
            bench.add(accel=time.monotonic() - begin)
            (pathlib.Path(folder) / "end").touch()
    return bench.summary()


def _await_ranks(folder, world_size):
    deadline = time.monotonic() + 60
    while not all((pathlib.Path(folder) / f"up.{world_size}.{rank}").exists() for rank in range(world_size)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"a world of {world_size} ranks did not start")
        time.sleep(0.001)
