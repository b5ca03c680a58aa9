"""The parts that all benchmarks share: interleaved pairs, raw rows, medians and ratios."""

import datetime
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

from tests.e2e.accounts import AS_ORDINARY, AS_ROOT

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "bazel-bin"
DISK = "/var/tmp"  # Not /tmp, because it may be in memory.
ACCEL = BIN / "cli/accel"
PYTHON = pathlib.Path(os.environ.get("ACCEL_PYTHON", pathlib.Path.home() / ".cache/accel/venv/bin/python"))
VENV = PYTHON.parent
TORCHRUN = [VENV / "torchrun", "--monitor_interval", "0.1"]


def wall(command, env=None, expect=0, timeout=120):
    """Returns the seconds that a command takes, from spawn to exit, and its standard output."""
    begin = time.monotonic()
    done = subprocess.run([str(part) for part in command], env={**os.environ, **(env or {})}, capture_output=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    if done.returncode != expect:
        raise RuntimeError(f"{command} exited with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return seconds, done.stdout.decode()


class Benchmark:
    """The rows of one comparison. `goal` is printed with them, and says what the figures must reach."""

    def __init__(self, name, unit, goal):
        self.name, self.unit, self.goal = name, unit, goal
        self.rows = []
        print(f"\n== {name} [{unit}]; must reach: {goal}", flush=True)

    def add(self, **values):
        self.rows.append(values)
        print("  " + "  ".join(f"{key} {value:.5g}" for key, value in values.items()), flush=True)

    def column(self, key):
        return [row[key] for row in self.rows if key in row]

    def summary(self):
        keys = list(dict.fromkeys(key for row in self.rows for key in row))
        medians = {key: statistics.median(self.column(key)) for key in keys}
        base = keys[0]
        ratios = {}
        for key in keys[1:]:
            pairs = [row[key] / row[base] for row in self.rows if key in row and base in row and row[base] > 0]
            if pairs:
                ratios[f"{key} / {base}"] = statistics.median(pairs)
        print("  median " + "  ".join(f"{key} {value:.5g}" for key, value in medians.items()))
        for pair, ratio in ratios.items():
            print(f"  {pair}: {ratio:.2f} (median of pairs)", flush=True)
        return {"name": self.name, "unit": self.unit, "goal": self.goal, "rows": self.rows, "medians": medians,
                "ratios": ratios}


def expect_less(row, **bounds):
    """Ends the benchmark if a figure of a row is not below its bound."""
    over = [f"{name} is {row[name]:.4g}, and must be less than {bound:.4g}" for name, bound in bounds.items()
            if row[name] >= bound]
    if over:
        raise RuntimeError("; ".join(over))


class Cluster:
    """A coordinator and agents on loopback, which are stopped at the end of the `with` block. Their files are then
    removed, unless a `folder` was given for them. The coordinator logs to the file `log`, if there is one. The state and
    the logs of the agents are in a folder of their own below `agents_in`, if that is set. That folder is always removed."""

    def __init__(self, agents=1, agent_flags=(), tcp=False, folder=None, log=subprocess.DEVNULL, agents_in=None):
        self._agents = agents
        self._tcp = tcp
        self.tcp = None  # HOST:PORT, if the coordinator also listens on TCP.
        self._agent_flags = agent_flags
        self._log = log
        self._keeps_files = folder is not None
        self._path = tempfile.mkdtemp(prefix="accel-bench-", dir=folder)
        self._agents_path = pathlib.Path(tempfile.mkdtemp(prefix="accel-bench-", dir=agents_in) if agents_in else self._path)
        self._logs_of_agents = agents_in is not None
        self._processes = []
        self.agent_pids = []

    def _start(self, *command, **options):
        env = {**os.environ, "HOME": self._path}
        options.setdefault("stderr", subprocess.DEVNULL)
        process = subprocess.Popen([str(part) for part in command], env=env, stdin=subprocess.DEVNULL, **options)
        self._processes.append(process)
        return process

    def _start_agent(self, i, stderr):
        # No job from a port runs as root, and an agent that is not root runs all jobs as itself.
        under, flags = (AS_ORDINARY, ()) if self._tcp else ((), AS_ROOT)
        return self._start(*under, BIN / "agent/accel-agent", "--coordinator", self.env["ACCEL_COORDINATOR"], "--state_dir",
                           self._agents_path / f"n{i}", "--name", f"n{i}", *flags, *self._agent_flags, stdout=subprocess.DEVNULL,
                           stderr=stderr)

    def restart_agent(self, i):
        """Kills an agent and starts the next one. Returns the seconds from the kill until the coordinator has answered its
        first report, which lists everything that it has adopted."""
        [old] = [process for process in self._processes if process.pid == self.agent_pids[i]]
        begin = time.monotonic()
        old.kill()
        old.wait()
        agent = self._start_agent(i, subprocess.PIPE)
        for line in agent.stderr:
            if b"connected to the coordinator" in line:
                seconds = time.monotonic() - begin
                break
        else:
            raise RuntimeError("the agent did not connect")
        # The log is read, because the agent would otherwise block once the pipe is full.
        threading.Thread(target=agent.stderr.read, daemon=True).start()
        self.agent_pids[i] = agent.pid
        return seconds

    @property
    def coordinator_pid(self):
        return self._coordinator.pid

    def _start_coordinator(self):
        """Returns the address of a coordinator that listens. A later one listens on the same port."""
        listen = ("--listen", self.tcp or "127.0.0.1:0") if self._tcp else ()
        self._coordinator = self._start(BIN / "coordinator/accel-coordinator", "--socket", f"{self._path}/socket",
                                        *listen, "--state_dir", self._path + "/coordinator",
                                        stdout=subprocess.PIPE, stderr=self._log)
        address = re.search(r"unix:\S+", self._coordinator.stdout.readline().decode()).group()
        if self._tcp:
            self.tcp = self._coordinator.stdout.readline().decode().split()[-1]
        return address

    def restart_coordinator(self):
        """Kills the coordinator and starts the next one. Returns the seconds from the kill until a call is served."""
        begin = time.monotonic()
        self._coordinator.kill()
        self._coordinator.wait()
        self._start_coordinator()
        wall([ACCEL, "nodes"], self.env)
        return time.monotonic() - begin

    def __enter__(self):
        self.env = {"ACCEL_COORDINATOR": self._start_coordinator(), "HOME": self._path}
        if self.tcp:  # Calls over TCP need a certificate.
            env = {**os.environ, **self.env}
            key = subprocess.run([ACCEL, "user", "add", "bench"], env=env, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run([ACCEL, "login"], env=env, check=True, input=key, stdout=subprocess.DEVNULL)
        try:
            self._start_agents()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_agents(self):
        for i in range(self._agents):
            log = open(self._agents_path / f"n{i}.log", "wb") if self._logs_of_agents else subprocess.DEVNULL
            self.agent_pids.append(self._start_agent(i, log).pid)
        deadline = time.monotonic() + 30
        while wall([ACCEL, "nodes", "--json"], self.env)[1].count('"connected": true') < self._agents:
            if time.monotonic() > deadline:
                raise RuntimeError("the agents did not connect")

    def __exit__(self, *_):
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self._processes):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._logs_of_agents:
            shutil.rmtree(self._agents_path)
        if not self._keeps_files:
            shutil.rmtree(self._path)

    def starts(self):
        """Returns when each agent received its part of a job, in seconds of the wall clock. Needs `agents_in`."""
        line = re.compile(r"^(\S+) I accel-agent start job=", re.MULTILINE)
        return [datetime.datetime.fromisoformat(time).timestamp()
                for log in self._agents_path.glob("*.log") for time in line.findall(log.read_text())]


def children(pid):
    """Returns the pids of all descendants of a process."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        for child in parents.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def resident_mb(pid):
    """Returns the resident and the proportional set size. The latter counts a shared page once, divided
    among its users."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return (int(re.search(r"^Rss:\s+(\d+)", text, re.M).group(1)) / 1024,
            int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1)) / 1024)


def cpu_seconds(pid):
    """Returns the seconds of user and system time of the threads that still run, to the nanosecond."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def cpu_seconds_of_all(pid):
    """Returns the seconds of user and system time so far, to a tick of the kernel (10 ms). Includes threads
    that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
