"""Measures what needs several hosts: a job over two hosts, a node that joins, and a job from a workstation. The hosts
are network namespaces (tests/e2e/hosts.py)."""

import contextlib
import os
import subprocess
import tempfile
import time

from bench import harness
from tests.e2e import hosts
from tests.e2e.accounts import AS_ORDINARY

COUNT = 2
PORT = 29500  # Each host is a network namespace, so this port is free there.
WORKSTATION = 2


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


def remote(pairs):
    """A cluster with certificates: the coordinator on one host, and the node or the user on another."""
    with contextlib.ExitStack() as stack:
        machines = hosts.Hosts(COUNT, real=True)
        stack.callback(machines.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="accel-bench-"))
        coordinator = _start(stack, machines, 1, harness.BIN / "coordinator/accel-coordinator", "--socket", f"{folder}/socket",
                             "--listen", f"{machines.address(1)}:{PORT}", "--state_dir", f"{folder}/coordinator", stdout=subprocess.PIPE)
        for _ in range(2):  # The coordinator prints a line for its socket, and one for its port.
            coordinator.stdout.readline()
        join = harness.Benchmark("a node joins: from accel-agent join until the agent is connected", "s", "<= 0.5 s")
        for i in range(pairs):
            join.add(accel=_join(stack, machines, folder, f"n{i}"))
        key = _run(machines, 1, folder, harness.ACCEL, "user", "add", "bench", "--coordinator", f"unix:{folder}/socket")
        _run(machines, WORKSTATION, folder, harness.ACCEL, "login", text=key)
        submit = harness.Benchmark("submit --wait of /bin/true over TLS from another host", "s", "<= 0.035 s; srun 0.126 s")
        for i in range(pairs + 1):
            begin = time.monotonic()
            _run(machines, WORKSTATION, folder, harness.ACCEL, "submit", "--cpu", "--wait", "--", "/bin/true")
            if i > 0:
                submit.add(accel=time.monotonic() - begin)
        return [join.summary(), submit.summary()]


def _join(stack, machines, folder, name):
    """Joins a node and starts its agent. Returns the seconds of both, without those of `accel node add`."""
    key = _run(machines, 1, folder, harness.ACCEL, "node", "add", "--coordinator", f"unix:{folder}/socket")
    begin = time.monotonic()
    agent = harness.BIN / "agent/accel-agent"
    _run(machines, WORKSTATION, folder, agent, "join", "--state_dir", f"{folder}/{name}", "--name", name, text=key)
    process = _start(stack, machines, WORKSTATION, *AS_ORDINARY, agent, "--state_dir", f"{folder}/{name}",
                     stderr=subprocess.PIPE, env={**os.environ, "HOME": folder})
    for line in process.stderr:
        if b"connected to the coordinator" in line:
            return time.monotonic() - begin
    raise RuntimeError("the agent did not connect")


def _start(stack, machines, host, *command, **options):
    """Starts a program on a host, which is ended with the stack."""
    process = subprocess.Popen([*machines.inside(host), *map(str, command)], stdin=subprocess.DEVNULL, **options)
    stack.callback(process.communicate)
    stack.callback(process.terminate)
    return process


def _run(machines, host, folder, *command, text=""):
    """Runs a command on a host, as a user whose home is the folder, and returns its standard output."""
    env = {**os.environ, "HOME": folder}
    return subprocess.run([*machines.inside(host), *map(str, command)], env=env, input=text, stdout=subprocess.PIPE, text=True,
                          timeout=60, check=True).stdout
