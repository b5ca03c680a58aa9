"""Measures the cost of supervising 8 sleeping workers for a minute."""

import os
import subprocess
import time

from bench import harness

SECONDS = 60


def cost(_pairs):
    bench = harness.Benchmark("resident memory and CPU over 8 sleeping workers, 60 s", "MB, % of one core",
                              "<= 20 MB, <= 0.05 %")
    sleep = ["sleep", str(SECONDS + 30)]
    with harness.Cluster() as cluster:
        env = {**os.environ, **cluster.env}
        subprocess.run([str(harness.ACCEL), "submit", "--cpu", "--on_agent_loss", "end", "--processes_per_node", "8", *sleep], env=env, check=True,
                       capture_output=True)
        torchrun = subprocess.Popen([*map(str, harness.TORCHRUN), "--nproc_per_node", "8", "--no_python", *sleep],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for_sleepers(cluster.agent_pids[0])
            _wait_for_sleepers(torchrun.pid)
            ours = [cluster.agent_pids[0]] + [pid for pid in harness.children(cluster.agent_pids[0])
                                              if harness.name_of(pid) != "sleep"]
            before = {pid: harness.cpu_seconds(pid) for pid in [*ours, torchrun.pid]}
            time.sleep(SECONDS)  # The measured interval itself.
            used = {pid: harness.cpu_seconds(pid) - before[pid] for pid in before}
            bench.add(accel_rss_mb=sum(harness.resident_mb(pid)[0] for pid in ours),
                      accel_cpu_percent=100 * sum(used[pid] for pid in ours) / SECONDS,
                      torchrun_rss_mb=harness.resident_mb(torchrun.pid)[0],
                      torchrun_cpu_percent=100 * used[torchrun.pid] / SECONDS)
        finally:
            torchrun.terminate()
            torchrun.wait()
    return bench.summary()


def _wait_for_sleepers(pid):
    deadline = time.monotonic() + 60
    while sum(harness.name_of(child) == "sleep" for child in harness.children(pid)) < 8:
        if time.monotonic() > deadline:
            raise RuntimeError("the 8 workers did not start")
        time.sleep(0.05)
