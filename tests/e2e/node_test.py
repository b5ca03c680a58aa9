"""What one job, or a copy of a state directory, can do to a node and to the other jobs on it."""

import contextlib
import os
import pathlib
import subprocess
import sys

from tests.e2e import cluster


DAEMON_NICE = -10  # If the daemon may raise its priority.


def may_raise_priority():
    """Tries it in a process of its own."""
    code = "import os; os.setpriority(os.PRIO_PROCESS, 0, -20)"
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL, timeout=60).returncode == 0


def children_of(pid):
    """Returns the living children of a process, without zombies."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It has just ended.
            if entry.name.isdigit() and cluster.is_alive(entry.name) and cluster.parent_of(entry.name) == pid:
                found.append(int(entry.name))
    return found


class Node(cluster.ClusterTest):
    def long_job(self):
        """Starts a job that runs until the test ends. Returns its id and the pid of its worker."""
        job = self.accel("submit", "--cpu", "--name", "neighbour", self.script("echo $$ > pid; exec sleep 600")).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        return job, worker

    def assert_undisturbed(self, job, worker):
        self.assertTrue(cluster.is_alive(worker))
        [status] = self.jobs(job)
        self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1))


class Priority(Node):
    def test_daemons_run_before_the_workers(self):
        _, worker = self.long_job()
        agent = self.agents[0].pid
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for pid in (cluster.parent_of(worker), worker):  # The shim and its worker.
            self.assertEqual(os.getpriority(os.PRIO_PROCESS, int(pid)), max(own, 0))
        raised = DAEMON_NICE if own == 0 and may_raise_priority() else own
        for daemon in (agent, self.coordinator.pid):
            self.assertEqual(os.getpriority(os.PRIO_PROCESS, daemon), raised)  # That is, its main thread.
            threads = [int(thread.name) for thread in pathlib.Path(f"/proc/{daemon}/task").iterdir()]
            # Threads that copy or delete much have the priority of jobs.
            self.assertLessEqual({os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}, {raised, max(own, 0)})


class Bounds(Node):
    def test_a_program_that_is_a_long_text_fails_its_own_job_alone(self):
        job, worker = self.long_job()
        for text in ("123456789\n" * 13_100, "\n" * 131_000):
            result = self.submit("--name", "text", "--processes_per_node", 120, "--", text)
            self.assertEqual(result.code, 127, result)
            self.assertLess(len(result.err), 5_000)
            self.assertIn(" ... ", result.err)
        self.assert_undisturbed(job, worker)
        self.assertNotIn("RESOURCE_EXHAUSTED", self.log("n1"))

    def test_a_start_that_is_too_large_says_so_and_leaves_no_shim(self):
        for _ in range(2):
            result = self.submit("--processes_per_node", 140, "--max_restarts", 1, "--env", "A=" + 130_000 * "x", "/bin/true")
            self.assertEqual(result.code, 126, result)
            self.assertIn("140 workers", result.err)
            self.assertIn("16777216", result.err)
        cluster.wait_until(lambda: not children_of(self.agents[0].pid), 60, "no shim is left")


class Restarts(Node):
    def test_a_storm_of_restarts_costs_no_generation_its_shim(self):
        # The first restart has no pause. If more jobs restart at the same time than the node has store sockets, they
        # lose their shims while they wait for a socket, and soon need new ones.
        script = self.script("exit 3")
        submits = [self.start(cluster.ACCEL, "submit", "--cpu", "--processes_per_node", 2, "--max_restarts", 1, script)
                   for _ in range(60)]
        jobs = [self.finish(each).out.split()[0] for each in submits]
        cluster.wait_until(lambda: all(job["phase"] == "FAILED" for job in self.jobs()), 120, "every job is over")
        causes = [generation["cause"]["exit"] for job in jobs for generation in self.jobs(job)[0]["generations"]]
        self.assertEqual(len(causes), 2 * len(jobs))
        self.assertEqual([cause for cause in causes if cause.get("code") != 3], [])


class Folders(Node):
    def test_a_copy_of_a_state_directory_is_another_node(self):
        job, worker = self.long_job()
        subprocess.run(["cp", "-a", self.path("n1"), self.path("copy")], check=True)  # With the shim's socket.
        twin = self.start_agent("copy")
        self.wait_for_nodes(2)
        self.assert_undisturbed(job, worker)
        self.assertIsNone(self.agents[0].poll())
        self.assertIsNone(twin.poll())
        self.assertIn("is a copy", self.log("copy"))
        self.assertNotEqual(self.path("n1/node_id").read_text().split()[0], self.path("copy/node_id").read_text().split()[0])

    def test_a_shim_that_hangs_is_adopted_and_can_be_ended(self):
        job = self.accel("submit", "--cpu", self.script("trap '' TERM; echo $$ > pid; exec sleep 600")).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        [shim] = self.shims()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        self.agents[0].kill()
        self.agents[0].wait()
        cluster.stop(shim)
        self.agents[0] = self.start_agent("n1")
        self.wait_for_nodes(1)
        self.assert_undisturbed(job, worker)
        self.accel("cancel", "--now", job)
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "CANCELLED", 60, "CANCELLED")
        self.assertFalse(cluster.is_alive(worker))
        self.assertFalse(cluster.is_alive(shim))
        self.assertEqual(self.submit("/bin/true").code, 0)


if __name__ == "__main__":
    cluster.main()
