"""What a worker tries against its own shim, the agent, its control group, its log folder, and the store of another job.
Root's agent lives, and shows and deletes nothing of others."""

import os
import pathlib
import re
import shutil
import signal
import stat
import tempfile

from tests.e2e import cluster
from tests.e2e.users import ANN, BOB, UserTest

SEGMENT = "stdout.00000000000000000000"
# Files of a control group that root alone may write.
LIMITS = ("cgroup.kill", "cgroup.freeze", "cgroup.max.depth", "cgroup.max.descendants", "pids.max", "memory.max")

# Prints what a process of the user can do to the process in the first argument. gdb and strace need not be installed.
TRACE = '''
import ctypes, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
for name, request in (("attach", PTRACE_ATTACH), ("seize", PTRACE_SEIZE)):
    if libc.ptrace(request, pid, None, None) == 0:
        print(name)
for name in ("mem", "environ", "maps", "fd/0", "cwd/", "root/", "exe", "io", "stack", "auxv", "syscall"):
    try:
        os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
        print(name)
    except OSError:
        pass
for name in ("mem", "oom_score_adj", "coredump_filter", "clear_refs"):
    try:
        os.close(os.open(f"/proc/{pid}/{name}", os.O_WRONLY))
        print("write", name)
    except OSError:
        pass
try:
    libc.syscall.restype = ctypes.c_long
    pidfd = os.pidfd_open(pid)
    if libc.syscall(438, pidfd, 0, 0) >= 0:
        print("pidfd_getfd")
except OSError:
    pass
'''


class Shim(UserTest):
    def trace(self, pid, user=ANN):
        """Returns what a job of the user can do to a process."""
        if not (self.public / "trace.py").exists():
            (self.public / "trace.py").write_text(TRACE)
        result = self.submit("--runs_as", user, "--workdir", "/", "/usr/bin/python3", self.public / "trace.py", pid)
        self.assertEqual(result.code, 0, result)
        return self.accel("logs", result.out.split()[0]).out.split("\n")[:-1]

    def test_a_worker_can_trace_neither_shim_nor_agent(self):
        job, pid, shim = self.hold()
        self.assertIn("attach", self.trace(pid), "a worker may trace one of its own user")
        self.assertIn("mem", self.trace(pid))
        for process in (shim, self.agents[0].pid, self.coordinator.pid):
            self.assertEqual(self.trace(process), [])
        self.cancel(job)

    def test_a_worker_that_ends_its_shim_ends_its_own_job_only(self):
        other, other_pid, _ = self.hold(user=BOB)
        for number in (signal.SIGKILL, signal.SIGSEGV):
            with self.subTest(number.name):
                result = self.shell(f"kill -{number.value} $PPID; exec sleep 1000")
                self.assertNotEqual(result.code, 0, result)
                self.assertIn("shim", result.err)
        self.assertEqual(self.shell(f"kill -9 {self.agents[0].pid} {other_pid} || echo refused").text, "refused\n")
        self.assertIsNone(self.agents[0].poll())
        self.assertEqual(self.shell("echo lives").text, "lives\n")
        self.assertTrue(cluster.is_alive(other_pid))
        self.cancel(other)


# Asks a store for a key as TCPStore does, and prints what it answers.
ASK = """
import socket, struct, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
s.settimeout(60)
try:
    s.sendall(struct.pack("=BI", 0, 0x3C85F7CE) + struct.pack("=BI", 13, 7))
    print(len(s.recv(4)))
except ConnectionError:
    print(0)
"""


class Store(UserTest):
    def test_another_user_cannot_use_the_store(self):
        job, _, _ = self.hold("", ANN, "--processes_per_node", 2)
        port = self.jobs(job)[0]["generations"][0]["master_port"]
        answers = {user: self.submit("--runs_as", user, "--workdir", "/", "/usr/bin/python3", "-c", ASK, port).out.split()[0]
                   for user in (ANN, BOB)}
        self.assertEqual({user: self.accel("logs", of).out for user, of in answers.items()}, {ANN: "4\n", BOB: "0\n"})
        self.cancel(job)
        self.assertIn("its store refused 1 connection of hosts or users that have no part in the job",
                      self.accel("status", job, "--long").out)


class Group(UserTest):
    def test_a_worker_neither_leaves_its_jobs_group_nor_changes_limits(self):
        if "v2 in /" not in self.log("n1"):
            self.skipTest("no control groups here")
        other, other_pid, _ = self.hold(user=BOB)
        twin, twin_pid, _ = self.hold()
        job, pid, _ = self.hold()
        base = pathlib.Path(re.search(r"v2 in (/[^\s\"]+)", self.log("n1"))[1])
        own = self.group_of(pid)
        self.assertTrue(own.is_dir(), own)
        roots = [base, own.parent, self.group_of(other_pid), self.group_of(other_pid).parent]
        moves = [f"{group}/cgroup.procs" for group in (base, self.group_of(other_pid), self.group_of(twin_pid))]
        limits = [path for group in roots for name in LIMITS if (path := group / name).exists()]
        self.assertGreaterEqual(len(limits), len(roots) * 2)
        script = "for file in {}; do (echo {} > $file) && echo $file; done"
        self.assertEqual(self.shell(script.format(" ".join(moves), "$$")).text, "")
        self.assertEqual(self.shell(script.format(" ".join(map(str, limits)), 1)).text, "")
        for each in (other, twin, job):
            self.cancel(each)

    def group_of(self, pid):
        path = re.search(r"(?m)^0::(.*)$", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[1]
        [mount] = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                   if line.split()[2] == "cgroup2"]
        return pathlib.Path(mount + path)


class LogFolder(UserTest):
    def setUp(self):
        super().setUp()
        self.closed = pathlib.Path(tempfile.mkdtemp(prefix="accel.", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.closed)
        (self.closed / SEGMENT).write_text("secret of root")
        (self.closed / SEGMENT).chmod(0o600)

    def rank(self, job):
        return self.state / "jobs" / job / "gen_1" / "rank_0"

    def test_devices_and_hard_links_are_neither_made_nor_read(self):
        job, _, _ = self.hold("echo x")
        rank = self.rank(job)
        text = self.shell(f"cd {rank} && (mknod stdout.device c 1 5 || ln {self.closed}/{SEGMENT} link || ln /etc/shadow link)").text
        self.assertEqual(text, "")
        self.assertEqual([path.name for path in rank.iterdir() if path.name in ("link", "stdout.device")], [])
        # If they existed all the same, because another file system allows them, root would not read them.
        segment = rank / SEGMENT
        plant = {"device": lambda: os.mknod(segment, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
                 "hard link": lambda: os.link(self.closed / SEGMENT, segment)}
        for name, put in plant.items():
            with self.subTest(name):
                segment.unlink()
                put()
                for flags in ("", "--tail 1 --since 1h"):
                    # Bounded, because the device of the first case has no end.
                    logs = self.run_command("/bin/sh", "-c", f"{cluster.ACCEL} logs {job} {flags} | head -c 1000 | wc -c")
                    self.assertEqual(logs.out, "0\n", logs)
        self.cancel(job)
        self.assertEqual((self.closed / SEGMENT).read_text(), "secret of root")

    def test_a_folder_that_changes_all_the_time_shows_nothing_of_others(self):
        job, _, _ = self.hold(f"cd $(dirname $(dirname $TORCHELASTIC_ERROR_FILE)); (while mv rank_0 x; do "
                              f"ln -s {self.closed} rank_0; rm rank_0; mv x rank_0; done) & echo x")
        for _ in range(20):
            self.assertNotIn("secret", self.accel("logs", job).out)
        self.assertIsNone(self.agents[0].poll())
        self.cancel(job)


if __name__ == "__main__":
    cluster.main()
