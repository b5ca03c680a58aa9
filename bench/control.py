"""Measures the load that a coordinator can take: durable submits, short jobs, and a restart with jobs in its store."""

import os
import pathlib
import signal
import tempfile
import time

from bench import harness

LOAD = harness.BIN / "bench/control/submit_load"
CLIENTS = 8
QUEUED = 10_000  # The maximum number of jobs that a coordinator keeps in its queue.
MEASURED = 2_000
SHORT_JOBS = 600


def _load(cluster, jobs, nodes):
    """Submits jobs from all clients at the same time. Returns the number that was accepted per second."""
    return float(harness.wall([LOAD, cluster.env["ACCEL_COORDINATOR"], CLIENTS, jobs, nodes])[1])


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
    """The agent's folders are in memory, because ext4 does not use the inodes of deleted files again for minutes: each run
    would search past those of the runs before."""
    bench = harness.Benchmark(f"{SHORT_JOBS} jobs of /bin/true, completed per second", "1/s", ">= 300; Slurm 32")
    for _ in range(pairs):
        with harness.Cluster(agents=1, agents_in="/dev/shm") as cluster:
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
    bench = harness.Benchmark("a node of three is lost: until the survivors run the next generation", "s",
                              "silent <= 3.8 s, said goodbye <= 0.6 s; torchrun more than 60 s")
    for _ in range(pairs):
        bench.add(accel_silent=_lose_a_node(_fall_silent), accel_said_goodbye=_lose_a_node(_say_goodbye))
    return bench.summary()


def _fall_silent(agent):
    """Simulates a host that is gone with everything on it."""
    for pid in [agent, *harness.children(agent)]:
        os.kill(pid, signal.SIGKILL)


def _say_goodbye(agent):
    """Simulates a host that shuts down: its agent gets SIGTERM."""
    os.kill(agent, signal.SIGTERM)


def _lose_a_node(how):
    with tempfile.TemporaryDirectory() as folder, harness.Cluster(agents=3, agent_flags=["--on_stop", "leave"]) as cluster:
        worker = pathlib.Path(folder) / "worker.sh"
        worker.write_text(f"#!/bin/bash\ntrap '' TERM\ntouch {folder}/up.$WORLD_SIZE.$RANK\n"
                          f"until [ -e {folder}/end ]; do sleep 0.05; done\n")
        worker.chmod(0o755)
        harness.wall([harness.ACCEL, "submit", "--cpu", "--nodes", "2:3", "--processes_per_node", 1, worker], cluster.env)
        _await_ranks(folder, 3)
        begin = time.monotonic()
        how(cluster.agent_pids[2])
        _await_ranks(folder, 2)
        seconds = time.monotonic() - begin
        (pathlib.Path(folder) / "end").touch()
    return seconds


def _await_ranks(folder, world_size):
    deadline = time.monotonic() + 60
    while not all((pathlib.Path(folder) / f"up.{world_size}.{rank}").exists() for rank in range(world_size)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"a world of {world_size} ranks did not start")
        time.sleep(0.001)
