"""Runs accel's real binaries for end-to-end tests. Each process has a time limit, and nothing is left behind.

Every process that a test starts has ACCEL_TEST_TAG in its environment. `leftovers()` finds the processes that still
have it, even if they have escaped (setsid, double fork).
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import uuid

from tests.e2e import nothing_left, shards
from tests.e2e.accounts import AS_ORDINARY, AS_ROOT, can_be_ordinary
from tests.e2e.processes import is_alive, is_sleeping, listening_sockets, parent_of, state_of
from tests.e2e.waiting import wait_until

_ROOT = pathlib.Path(os.environ["TEST_SRCDIR"]) / "accel"
ACCEL = str(_ROOT / "cli/accel")
COORDINATOR = str(_ROOT / "coordinator/accel-coordinator")
AGENT = str(_ROOT / "agent/accel-agent")
SHIM = str(_ROOT / "shim/accel-shim")
# An interpreter with PyTorch and Accelerate.
PYTHON = os.environ.get("ACCEL_PYTHON") or str(
    pathlib.Path(os.environ.get("ACCEL_TEST_HOME", "/root"), ".cache/accel/venv/bin/python"))

# The default limit of a command. It takes a moment, but a loaded machine may keep a process from running for seconds.
SECONDS = 120


def runfile(path):
    """Returns the absolute path of a file of this workspace that the test depends on."""
    return str(_ROOT / path)


def stop(pid):
    """Stops a process, and returns when none of its threads runs. The kernel tells only one thread of a signal. The others
    go on until that one has been scheduled."""

    def has_stopped():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # A thread has just ended.
            return all(state_of(thread) == "T" for thread in pathlib.Path(f"/proc/{pid}/task").iterdir())

    os.kill(pid, signal.SIGSTOP)
    wait_until(has_stopped, 60, f"process {pid} has stopped")


def close_pipes(process):
    """Closes this side of the pipes of a process that has ended."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(BrokenPipeError):  # What was not flushed to its input is lost.
                pipe.close()


class Result:
    """The result of a command, and the seconds since it was started."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"exit code {self.code} after {self.seconds:.2f} s\nstdout: {self.out[-4000:]}\nstderr: {self.err[-4000:]}"


class Test(unittest.TestCase):
    """A test with its own directories and process tag."""

    SECONDS_TO_END = 30  # A process that is left after this time at the end of the test is a fault.

    def setUp(self):
        self.tag = uuid.uuid4().hex
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": self.dir,
            "TMPDIR": self.dir,
            "ACCEL_TEST_TAG": self.tag,
            "ACCEL_SHIM": SHIM,
        }
        self.processes = []
        # A socket's path has at most 107 bytes, so it is not in the test's own folder.
        run_dir = tempfile.mkdtemp(prefix="accel.", dir="/tmp")
        self.addCleanup(shutil.rmtree, run_dir)
        self.socket = f"{run_dir}/coordinator"

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            close_pipes(process)
        left = self.leftovers(self.SECONDS_TO_END) + self.shims(self.SECONDS_TO_END)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):  # It may end with one that was killed before it.
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [], "processes were left behind")

    def leftovers(self, seconds=30, variable=None):
        """Waits at most this many seconds until no process has this test's tag (or another NAME=VALUE) in its
        environment. Returns the pids that still do."""
        needle = (variable or f"ACCEL_TEST_TAG={self.tag}").encode()

        def tagged():
            found = []
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                try:
                    if needle in (entry / "environ").read_bytes() and is_alive(entry.name):
                        found.append(int(entry.name))
                except OSError:
                    pass
            return found

        deadline = time.monotonic() + seconds
        found = tagged()
        while found and time.monotonic() < deadline:
            time.sleep(0.01)  # As in wait_until().
            found = tagged()
        return found

    def shims(self, seconds=0):
        """Waits at most this many seconds until no shim of this test is left. Returns the pids of those that are. A shim
        does not inherit the environment, so it has no tag. It has its agent's working directory."""

        def found():
            pids = []
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    is_shim = entry.name.isdigit() and (entry / "comm").read_text() == "accel-shim\n"
                    if is_shim and os.readlink(entry / "cwd") == self.dir and is_alive(entry.name):
                        pids.append(int(entry.name))
                except OSError:
                    pass
            return pids

        deadline = time.monotonic() + seconds
        while (pids := found()) and time.monotonic() < deadline:
            time.sleep(0.01)  # As in wait_until().
        return pids

    def start(self, *command, env=None, stdin=subprocess.DEVNULL, **options):
        """Starts a command, which is killed at the end of the test at the latest. Its pipes have no buffer here. Otherwise
        readline() might take more than its line, and finish() would not return the rest."""
        began = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            bufsize=0,
            env={**self.env, **(env or {})},
            stdin=stdin,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            cwd=options.pop("cwd", self.dir),
            **options,
        )
        process.began = began
        self.processes.append(process)
        return process

    def start_logged(self, log, *command, **options):
        """Starts a command that appends what it prints to a file of this test."""
        with open(self.path(log), "ab") as file:
            return self.start(*command, stdout=file, stderr=file, **options)

    def reserved_port(self):
        """Returns a TCP port of 127.0.0.1 that only a server with SO_REUSEADDR can bind until the end of the test. So no
        other process takes it while the server is away."""
        reservation = socket.socket()
        self.addCleanup(reservation.close)
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("127.0.0.1", 0))
        return reservation.getsockname()[1]

    def finish(self, process, seconds=SECONDS):
        """Waits for a started command. The test fails if it takes longer."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            # Its descendants may hold open the pipes that are read here.
            for pid in self.leftovers(seconds=0):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"still running after {seconds} s: {process.args}\n{out[-4000:]}\n{err[-4000:]}")
        return Result(process.returncode, (out or b"").decode(errors="replace"),
                      (err or b"").decode(errors="replace"), time.monotonic() - process.began)

    def run_command(self, *command, seconds=SECONDS, **options):
        return self.finish(self.start(*command, **options), seconds)

    def accel(self, *arguments, seconds=SECONDS, **options):
        """Runs `accel ARGUMENTS...` to its end."""
        return self.run_command(ACCEL, *arguments, seconds=seconds, **options)

    def launch(self, *arguments, seconds=SECONDS, **options):
        """Runs `accel launch --cpu ARGUMENTS...` to its end."""
        return self.accel("launch", "--cpu", *arguments, seconds=seconds, **options)

    def script(self, text, name="script.sh", shell="/bin/bash"):
        """Creates an executable file with this text."""
        path = pathlib.Path(self.dir) / name
        # Written beside it first, because a script that a worker begins to execute cannot be written to.
        written = path.with_suffix(".new")
        written.write_text(f"#!{shell}\n{text}\n")
        written.chmod(0o755)
        written.replace(path)
        return str(path)

    def python(self, text, name="script.py"):
        path = pathlib.Path(self.dir) / name
        path.write_text(text)
        return str(path)

    def path(self, name):
        return pathlib.Path(self.dir) / name

    def wait_for_file(self, name, seconds=60):
        """Returns the text of a file of this test, once it is not empty."""
        path = self.path(name)
        return wait_until(lambda: path.exists() and path.read_text(), seconds, f"a text in {name}")


class ClusterTest(Test):
    """A test with its own coordinator and agents."""

    AGENTS = 1
    # Seconds after which a silent node is lost. A loaded machine may keep an agent from running for longer than the 3 s of
    # the default. Tests that lose a node set a shorter time, and None is the default.
    NODE_TIMEOUT = 30
    LISTEN = None  # HOST:PORT, if the test needs connections over TCP. Otherwise all use the Unix socket.
    ENROLS = True  # With TCP, agents join and the user logs in by themselves.
    uses_tcp = False  # True once they have.

    def setUp(self):
        super().setUp()
        self.left = nothing_left.Left(self, COORDINATOR, AGENT)
        self.start_coordinator()
        self.agents = [self.start_agent(f"n{i + 1}") for i in range(self.AGENTS)]
        self.wait_for_nodes(self.AGENTS)

    def tearDown(self):
        try:
            self.end_jobs()
            self.left.check()
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
            for process in self.processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=30)
            super().tearDown()

    def start(self, *command, env=None, **options):
        # Jobs are submitted at the Unix socket, because these tests may run as root, and no user who has logged in gets
        # the account of root for his jobs.
        if self.uses_tcp and ACCEL in command and "submit" in command:
            env = {"ACCEL_COORDINATOR": f"unix:{self.socket}", **(env or {})}
        return super().start(*command, env=env, **options)

    def end_jobs(self):
        """Cancels what the test has left running, because jobs outlive their agents."""
        agents = [agent for agent in getattr(self, "agents", []) if agent.poll() is None]
        if self.coordinator.poll() is None and agents:
            for job in self.jobs():
                if job["phase"] not in ("SUCCEEDED", "FAILED", "CANCELLED"):
                    self.accel("cancel", "--now", job["job_id"])
            if len(agents) == len(self.agents):
                self.shims(seconds=30)
        # Where no agent is left that could end them, the shims are asked to.
        if len(agents) < len(self.agents) or self.coordinator.poll() is not None:
            for pid in self.shims():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGTERM)
            self.shims(seconds=30)

    def start_coordinator(self, *flags, listen=None, under=(), **options):
        """Starts the coordinator at this address (HOST:PORT, or unix:PATH), by default at the test's. `under` is a command
        that executes it."""
        if hasattr(self, "coordinator"):
            close_pipes(self.coordinator)
        listen = listen or self.LISTEN or f"unix:{self.socket}"
        if listen == "127.0.0.1:0":
            listen = f"127.0.0.1:{self.reserved_port()}"
        tcp = () if listen.startswith("unix:") else ("--listen", listen)
        if self.NODE_TIMEOUT and "--node_timeout" not in flags:
            flags = ("--node_timeout", self.NODE_TIMEOUT, *flags)
        with open(self.path("coordinator.log"), "ab") as log:
            self.coordinator = self.start(*under, COORDINATOR, "--socket", self.socket, *tcp, "--state_dir",
                                          self.path("coordinator"), *flags, stderr=log, **options)
        for _ in ("unix", *tcp[:1]):
            line = self.coordinator.stdout.readline().decode()
            self.assertTrue(line.startswith("listening on "), f"the coordinator printed no address: {line!r}")
        self.env["ACCEL_COORDINATOR"] = line.split()[-1]
        self.uses_tcp = bool(tcp) and self.ENROLS
        if self.uses_tcp and not self.path(".config/accel/default_cluster").exists():
            self.enrol(("user", "add", "tester", "--role", "admin"), ACCEL, "login")

    def enrol(self, add, *command):
        """Makes a key with `accel ADD...` over the Unix socket, and runs the command that reads it."""
        key = self.accel(*add, env={"ACCEL_COORDINATOR": f"unix:{self.socket}"})
        self.assertEqual(key.code, 0, key)
        newcomer = self.start(*command, stdin=subprocess.PIPE)
        newcomer.stdin.write(key.out.encode())
        newcomer.stdin.flush()
        result = self.finish(newcomer)
        self.assertEqual(result.code, 0, result)

    def start_agent(self, name, env=None, flags=(), under=()):
        """Starts an agent; `under` is a command that executes it."""
        if self.uses_tcp and not self.path(f"{name}/node.crt").exists():
            self.enrol(("node", "add"), AGENT, "join", "--state_dir", self.path(name), "--name", name)
        return self.start_logged(f"{name}.log", *under, AGENT, "--state_dir", self.path(name), "--name", name, *AS_ROOT,
                                 *flags, env=env)

    def wait_for_nodes(self, count):
        wait_until(lambda: self.accel("nodes", "--json").out.count('"connected": true') >= count, 120,
                   f"{count} connected nodes")
        self.left.note_idle()

    def submit(self, *arguments, seconds=SECONDS, **options):
        """Runs `accel submit --wait --cpu ARGUMENTS...` to its end."""
        return self.accel("submit", "--wait", "--cpu", *arguments, seconds=seconds, **options)

    def jobs(self, *arguments):
        """Returns the output of `accel status --json`, for all jobs or for one."""
        status = json.loads(self.accel("status", *arguments, "--json").out)
        jobs = status["jobs"] if "jobs" in status else [status]
        self.left.note_jobs(jobs)
        return jobs

    def log(self, name):
        return self.path(f"{name}.log").read_text(errors="replace")


def main():
    unittest.main(verbosity=2, testLoader=shards.Loader())
