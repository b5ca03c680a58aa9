"""Measures what agents of another cluster cost a coordinator, and what that costs a real agent: CPU and lines of the log."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from bench import harness

AGENT = harness.BIN / "agent/accel-agent"
SIMULATED = harness.BIN / "bench/control/foreign_agents"
AGENTS = 1_000
SECONDS = 60
CPU_SECONDS = 5
LINES = 100
RESTART_PAUSE = 1  # Seconds until the next start of an agent that has ended, as the unit of the package says.
# What a link logs after its first session.
FOREIGN, CLOSED = "does not trust the certificate of the coordinator", "coordinator unreachable"


def wrong_ca(pairs):
    return [_of_another_cluster(pairs), _refused(pairs)]


def _of_another_cluster(pairs):
    """The agents have joined another cluster, so they refuse the coordinator."""
    bench = harness.Benchmark(f"{AGENTS} agents that do not trust the coordinator for {SECONDS} s: CPU and log lines of the "
                              "coordinator, and of a real agent", "s, s, lines, lines", f"< {CPU_SECONDS} s, < {LINES} lines")
    for _ in range(pairs):
        row = _measure(FOREIGN)
        bench.add(**row)
        harness.expect_less(row, coordinator=CPU_SECONDS, agent=CPU_SECONDS, coordinator_lines=LINES, agent_lines=LINES)
    return bench.summary()


def _refused(pairs):
    """The agents trust the coordinator, which refuses their certificates. A real agent with such files ends before it connects,
    and the simulated ones connect all the same. So their handshakes are those of strangers (bench/attack.py), and the CPU for
    them has no bound here."""
    bench = harness.Benchmark(f"{AGENTS} clients whose certificates the coordinator refuses for {SECONDS} s: CPU and log lines of "
                              "the coordinator, and of a real agent, which does not connect", "s, s, lines, lines",
                              f"< {LINES} lines, the agent < {CPU_SECONDS} s")
    for _ in range(pairs):
        row = _measure(CLOSED, trusts_coordinator=True)
        bench.add(**row)
        harness.expect_less(row, agent=CPU_SECONDS, coordinator_lines=LINES, agent_lines=LINES)
    return bench.summary()


def _measure(reason, trusts_coordinator=False):
    """Returns a row. `reason` is what each simulated agent must log."""
    with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
        identity, own, log = (pathlib.Path(folder, name) for name in ("foreign", "own", "log"))
        with harness.Cluster(agents=0, tcp=True) as cluster:
            _join(cluster, identity)
        with open(log, "wb") as file, harness.Cluster(tcp=True, log=file) as cluster:
            _join(cluster, own)
            if trusts_coordinator:
                shutil.copy2(own / "ca.crt", identity / "ca.crt")
            before, cpu = _lines(log), harness.cpu_seconds_of_all(cluster.coordinator_pid)
            agent_cpu, agent_lines = _run(cluster, identity, reason)
            row = {"coordinator": harness.cpu_seconds_of_all(cluster.coordinator_pid) - cpu, "agent": agent_cpu,
                   "coordinator_lines": _lines(log) - before, "agent_lines": agent_lines}
            harness.wall([harness.ACCEL, "nodes", "--coordinator", cluster.tcp], cluster.env)  # It still serves.
    return row


def _join(cluster, folder):
    """Makes the identity of a node of the cluster in a folder."""
    key = harness.wall([harness.ACCEL, "node", "add"], cluster.env)[1]
    subprocess.run([AGENT, "join", "--state_dir", folder, "--name", "bench", "--key_file", "-"], input=key, text=True, check=True,
                   stdout=subprocess.DEVNULL)


def _run(cluster, identity, reason):
    """Runs all agents. Returns the CPU and the log lines of the real one."""
    log = identity / "simulated.log"
    with open(log, "wb") as file:
        simulated = subprocess.Popen([SIMULATED, cluster.tcp, identity, str(AGENTS), str(SECONDS)], stderr=file)
    try:
        agent = _run_real(cluster, identity)
        if simulated.wait(60) != 0:
            raise RuntimeError(f"the simulated agents have failed:\n{log.read_text()[-2000:]}")
    finally:
        simulated.kill()
        simulated.wait()
    if (said := log.read_text().count(reason)) < AGENTS:
        raise RuntimeError(f"only {said} of {AGENTS} agents have logged: {reason}")
    return agent


def _run_real(cluster, identity):
    log = identity / "agent.log"
    command = [AGENT, "--state_dir", identity, "--coordinator", cluster.tcp, *harness.AS_ROOT]
    cpu, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        with open(log, "ab") as file:
            agent = subprocess.Popen(command, stderr=file)
        # It is not reaped before its CPU is read.
        while time.monotonic() < end and not os.waitid(os.P_PID, agent.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            time.sleep(0.05)
        cpu += harness.cpu_seconds_of_all(agent.pid)
        agent.terminate()
        agent.wait(30)
        time.sleep(RESTART_PAUSE)
    return cpu, _lines(log)


def _lines(log):
    return log.read_bytes().count(b"\n")
