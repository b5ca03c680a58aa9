"""Two hosts: from the command on both to the exit after the first collective. The hosts are network namespaces (tests/e2e/hosts.py)."""

import os
import subprocess
import time

from bench import harness
from tests.e2e import hosts

COUNT = 2
PORT = 29500  # The hosts have network namespaces, so every port is free there.


def _both(machines, command, env):
    """Starts the command on all hosts. Returns the seconds until the last one has exited."""
    begin = time.monotonic()
    processes = [subprocess.Popen([*machines.inside(host), *map(str, command)], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for host in range(1, COUNT + 1)]
    for process in processes:
        err = process.communicate(timeout=120)[1]
        if process.returncode != 0:
            raise RuntimeError(f"{command} exited with {process.returncode}:\n{err.decode()[-2000:]}")
    return time.monotonic() - begin


def first_collective(pairs):
    """Compares `accel launch` with torchrun and its c10d rendezvous, with a C++ worker and with a Python worker."""
    bench = harness.Benchmark("2 hosts to the exit after the first collective, nothing running before", "s",
                              ">= 6 times faster than torchrun with the c10d rendezvous")
    machines = hosts.Hosts(COUNT, real=True)
    try:
        place = machines.address(1)
        accel = [harness.ACCEL, "launch", "--cpu", "--num_machines", COUNT, "--num_processes", COUNT, "--main_process_ip", place,
                 "--main_process_port", PORT]
        torchrun = [*harness.TORCHRUN, "--nnodes", COUNT, "--nproc_per_node", 1, "--rdzv_backend", "c10d", "--rdzv_endpoint",
                    f"{place}:{PORT}"]
        python = harness.ROOT / "bench/workers/first_collective.py"
        cpp = harness.BIN / "bench/worker/first_collective"
        # Without the variable, Gloo resolves the name of the host, which is 127.0.1.1, and fails.
        interface = {"GLOO_SOCKET_IFNAME": "eth0"}
        for i in range(pairs + 1):
            row = {"accel_cpp": _both(machines, [*accel, cpp], {}),
                   "torchrun_python": _both(machines, [*torchrun, python], interface),
                   "torchrun_cpp": _both(machines, [*torchrun, "--no_python", cpp], interface),
                   "accel_python": _both(machines, [*accel, "--python", harness.VENV / "python", python], {})}
            if i > 0:  # The first round fills the caches.
                bench.add(**row)
    finally:
        machines.close()
    return bench.summary()
