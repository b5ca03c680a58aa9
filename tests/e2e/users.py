"""Jobs that run as other users than their agent, which is root. The accounts are those that every Debian has."""

import os
import pathlib
import shutil
import tempfile
import unittest

from tests.e2e import cluster

ANN, BOB = "nobody", "daemon"  # The two users of these tests.


@unittest.skipUnless(os.geteuid() == 0, "only root can start jobs of other users")
class UserTest(cluster.ClusterTest):
    """A test with a coordinator of root and an agent of root, which runs jobs of two users."""

    FLAGS = ("--allow_system_users", f"{ANN},{BOB}")

    def setUp(self):
        self.held = []  # The pids of workers and shims.
        # A folder that all users may enter, in which each of them may write.
        self.public = pathlib.Path(tempfile.mkdtemp(prefix="accel.", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.public)
        os.chmod(self.public, 0o1777)
        # All users may execute this shim, as they may the package's. The build's may be below root's closed home.
        self.shim = shutil.copy(cluster.SHIM, self.public)
        super().setUp()

    def start_agent(self, name, env=None, flags=(), under=()):
        # The agent's folder must be one that users can reach, as /var/lib/accel-agent is.
        state = pathlib.Path(tempfile.mkdtemp(prefix="accel.", dir="/tmp"))
        self.addCleanup(shutil.rmtree, state)
        self.state = state
        return self.start_agent_in(state, name, env, flags, under)

    def start_agent_in(self, state, name, env=None, flags=(), under=(), **options):
        return self.start_logged(f"{name}.log", *under, cluster.AGENT, "--state_dir", state, "--name", name, *self.FLAGS,
                                 *flags, env={"SECRET_OF_ROOT": "hunter2", "ACCEL_SHIM": self.shim, **(env or {})}, **options)

    def shell(self, script, *flags, user=ANN, **options):
        """Runs a shell script as a job of the user. Returns a result with the id as `job` and the output as `text`."""
        result = self.submit("--runs_as", user, "--workdir", "/", *flags, "--", "/bin/sh", "-c", script, **options)
        job = result.out.split()[0] if result.out else ""
        result.job = job
        if job:
            result.text = self.accel("logs", job).out
        return result

    def hold(self, script="", user=ANN, *flags):
        """Starts a job that runs until it is cancelled. Returns its id, and the pids of its worker and its shim."""
        mark = self.public / f"pid-{os.urandom(4).hex()}"
        job = self.accel("submit", "--cpu", "--runs_as", user, "--workdir", "/", *flags, "--", "/bin/sh", "-c",
                         f"{script}\necho $$ > {mark}; exec sleep 1000").out.strip()
        pid = int(cluster.wait_until(lambda: mark.exists() and mark.read_text(), 60, "the job runs"))
        self.held += [pid, cluster.parent_of(pid)]
        return job, pid, cluster.parent_of(pid)

    def end_jobs(self):
        super().end_jobs()
        # The shims of users have neither this test's folder nor its tag.
        cluster.wait_until(lambda: not any(map(cluster.is_alive, self.held)), 60, "the held jobs have ended")

    def cancel(self, job):
        self.accel("cancel", "--now", job)
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "CANCELLED", 60, "the job is cancelled")
