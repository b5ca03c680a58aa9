"""A fork bomb in a job: the limit of the job's control group caps it, and the node goes on to obey and to run other jobs.
The job of a user cannot lift the limit."""

import contextlib
import inspect
import os
import pathlib
import time
import unittest

from tests.e2e import cluster
from tests.e2e.users import ANN, UserTest

LIMIT = 300
# A daemon with another nice value than 0 keeps it, and the job gets 0. So these tests, their commands and their daemons
# run before the bomb.
NICE = -10
# Each process of it computes, and never stops trying to start others.
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def groups_of(pid):
    """Returns the folders of a process's control groups, from the one with its limit of processes up to the hierarchy's root.
    The list is empty if there is no limit."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for root in {"pids": ("/sys/fs/cgroup/pids",), "": ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")}.get(controllers, ()):
            folder = pathlib.Path(root + path)
            if (folder / "pids.max").exists():
                return [folder, *folder.parents]
    return []


class Prior:
    """A test that runs before the jobs that it starts."""

    def setUp(self):
        if os.geteuid() == 0:
            before = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
            self.addCleanup(os.setpriority, os.PRIO_PROCESS, 0, before)
        super().setUp()
        log = self.log("n1")
        if "the number of processes is not limited" in log:
            self.skipTest(f"this machine limits no processes for us: {log.splitlines()[0]}")

    def start_agent(self, name, env=None, flags=(), under=()):
        return super().start_agent(name, env, ("--max_processes", LIMIT, *flags), under)

    def wait_for_full(self, group):
        cluster.wait_until(lambda: int((group / "pids.current").read_text()) >= LIMIT, 60, "the bomb has reached the limit")

    def peak(self, group):
        """Returns the largest number of processes that the group has had. Old kernels do not know it."""
        files = [file for file in (group / "pids.peak", group / "pids.current") if file.exists()]
        return int(files[0].read_text())


class Bomb(Prior, cluster.ClusterTest):
    def test_is_capped_and_killed_and_the_node_stays_usable(self):
        script = self.python("import os, pathlib\npathlib.Path('pid').write_text(str(os.getpid()))\n" + BOMB)
        job = self.accel("submit", "--cpu", "--python", "/usr/bin/python3", script).out.split()[0]
        group, *_ = groups_of(int(self.wait_for_file("pid")))
        self.assertEqual(int((group / "pids.max").read_text()), LIMIT)
        self.wait_for_full(group)

        # A job has the priority of the bomb, so each of its steps waits for hundreds of processes.
        other = self.submit("/bin/true", seconds=300)
        self.assertEqual(other.code, 0, other)
        print(f"beside the bomb, a job took {other.seconds:.3f} s")
        self.assertIn('"connected": true', self.accel("nodes", "--json").out)
        self.assertEqual(self.jobs(job)[0]["phase"], "RUNNING")

        self.assertEqual(len((group / "cgroup.procs").read_text().split()), LIMIT)
        self.assertLessEqual(self.peak(group), LIMIT)

        # The command needs some time of the processors, so it gets more of it than the daemons.
        first = ("nice", "-n", "-10") if os.geteuid() == 0 else ()
        cancel = self.start(*first, cluster.ACCEL, "cancel", "--now", job)
        cluster.wait_until(lambda: self.has_less(group), 60, "the kill has begun")
        begun = time.monotonic()
        cluster.wait_until(lambda: not group.exists(), 60, "the bomb is gone")
        print(f"{begun - cancel.began:.3f} s after the start of `accel cancel`, the bomb began to die, and was gone after "
              f"{time.monotonic() - begun:.3f} s")
        self.assertEqual(self.finish(cancel).code, 0)
        self.assertEqual(self.running(script), [])
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "CANCELLED", 60, "CANCELLED")
        self.assertEqual(self.submit("/bin/true").code, 0)

    def test_a_failure_names_the_limit(self):
        script = self.python("import os, signal\nwhile os.fork():\n    pass\nsignal.pause()\n")
        result = self.submit("--python", "/usr/bin/python3", script)
        self.assertEqual(result.code, 1, result)
        reached = f"exited with code 1: its job reached the limit of {LIMIT} processes and threads on this node"
        self.assertIn(reached, result.err)
        self.assertIn(reached, self.accel("status", result.out.split()[0]).out)

    def test_a_launch_has_the_default(self):
        script = self.python("import os, pathlib, signal\n" + inspect.getsource(groups_of) +
                             'print((groups_of("self")[0] / "pids.max").read_text())')
        result = self.launch("--python", "/usr/bin/python3", script)
        self.assertEqual(result.code, 0, result)
        ids = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())
        self.assertTrue(16 <= int(result.out) <= 3 * ids // 4, result)

    @staticmethod
    def running(script):
        """Returns the processes that execute the script. Takes long while they fork, which holds a lock of their memory."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and script.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    @staticmethod
    def has_less(group):
        """Returns true if the group has fewer processes than its limit, or is gone."""
        try:
            return int((group / "pids.current").read_text()) < LIMIT
        except OSError:
            return True


# Tries to lift the limits of its groups and to leave them, and prints which attempts the kernel allowed. Then it starts
# processes until it cannot, and prints how many it has.
ATTACK = "import os, pathlib, signal\n" + inspect.getsource(groups_of) + """
own, job, accel, *_ = groups_of("self")
for name, folder in (("own", own), ("shim", job / "shim"), ("job", job), ("accel", accel), ("above", accel.parent)):
    for file, text in (("pids.max", "max"), ("tasks", "0"), ("cgroup.procs", "0")):
        try:
            (folder / file).write_text(text)
            print(name, file, flush=True)
        except OSError:
            pass
processes = 1
try:
    while os.fork():
        processes += 1
    signal.pause()
except OSError:
    print(processes)
"""


@unittest.skipUnless(os.geteuid() == 0, "only root can start jobs of other users")
class UsersBomb(Prior, UserTest):
    def test_the_user_cannot_lift_the_limit(self):
        job, pid, shim = self.hold()
        group, above, *_ = groups_of(pid)
        self.assertEqual(groups_of(shim)[:2], [above / "shim", above], "a worker could have its shim's groups")
        self.assertEqual(int((group / "pids.max").read_text()), LIMIT)
        with_shim = int((above / "pids.max").read_text())
        self.assertTrue(LIMIT < with_shim < LIMIT + 100, with_shim)
        self.cancel(job)
        # The agent removes it after it has reported the end.
        cluster.wait_until(lambda: not above.exists(), 60, "the job's group is gone")

        (self.public / "attack.py").write_text(ATTACK)
        result = self.shell(f"exec /usr/bin/python3 {self.public}/attack.py")
        self.assertEqual(result.code, 0, result)
        *allowed, processes = result.text.splitlines()
        print(f"the kernel allowed {allowed}, and then {processes} processes")
        # The user's own group has a limit that the user may lift. That of the job is root's.
        self.assertEqual([attempt for attempt in allowed if attempt.split()[0] in ("accel", "above")], [])
        self.assertNotIn("job pids.max", allowed)
        self.assertTrue(LIMIT - 20 < int(processes) < with_shim, processes)


if __name__ == "__main__":
    cluster.main()
