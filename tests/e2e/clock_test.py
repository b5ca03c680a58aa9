"""Clocks that jump. A wall clock that is a year off has no effect on jobs, nodes and daemons, except that no new connection
with a certificate is made until it is right again. A node that stood still for longer than its timeout does not continue
what was given to another node meanwhile."""

import os
import signal
import struct
import time

from tests.e2e import cluster

YEAR = 365 * 86400
WRONG = "or the one of the coordinator is wrong"
WORKER = """
echo $$ > new.$$; mv new.$$ pid.$ACCEL_GENERATION
until [ -e end ]; do sleep 0.05; done
echo $ACCEL_GENERATION >> results
"""


def let_pass(seconds):
    begin = time.monotonic()
    cluster.wait_until(lambda: time.monotonic() > begin + seconds, seconds + 60, "")


class Clock(cluster.ClusterTest):
    NODE_TIMEOUT = 8

    def start_job(self):
        """Returns the id of a job that runs until the file `end` exists, and its pid."""
        job = self.accel("submit", "--cpu", "--max_restarts", 1, self.script(WORKER)).out.split()[0]
        pid = int(self.wait_for_file("pid.1"))
        cluster.wait_until(lambda: self.status(job)["phase"] == "RUNNING", 60, "RUNNING")
        return job, pid

    def status(self, job):
        [status] = self.jobs(job)
        return status

    def end_well(self, job, generations):
        self.path("end").touch()
        cluster.wait_until(lambda: self.status(job)["phase"] == "SUCCEEDED", 60, "the job succeeds")
        self.assertEqual(len(self.status(job)["generations"]), generations)
        self.assertEqual(self.path("results").read_text().split(), [str(generations)])


class WallClocks(Clock):
    """Each daemon has its own wall clock (tests/e2e/wall_clock.c)."""

    def clock(self, daemon):
        if not self.path(f"{daemon}.clock").exists():
            self.path(f"{daemon}.clock").write_bytes(bytes(8))
        return {"LD_PRELOAD": cluster.runfile("tests/e2e/libwall_clock.so"), "WALL_CLOCK_FILE": str(self.path(f"{daemon}.clock"))}

    def shift(self, daemon, seconds):
        with open(self.path(f"{daemon}.clock"), "r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))

    def start_coordinator(self, *flags, **options):
        super().start_coordinator(*flags, env=self.clock("coordinator"), **options)

    def start_agent(self, name, **options):
        return super().start_agent(name, env=self.clock(name), **options)

    def restart_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])


class WallClock(WallClocks):
    """The clock of a daemon goes forward by a year, then back by two."""

    def check_all(self, job, pid):
        """Nothing has happened to the job, and another one runs, fails, waits for a restart, and ends in time."""
        let_pass(9)  # Longer than the node timeout.
        self.wait_for_nodes(1)
        result = self.submit("--max_restarts", 2, self.script("exit 3", "fails.sh"))
        self.assertEqual(result.code, 3, result)
        self.assertTrue(cluster.is_alive(pid))
        self.assertEqual((self.status(job)["phase"], len(self.status(job)["generations"])), ("RUNNING", 1))

    def check(self, daemon):
        job, pid = self.start_job()
        for seconds in (YEAR, -YEAR):
            self.shift(daemon, seconds)
            self.check_all(job, pid)
            self.restart_coordinator()
            self.wait_for_nodes(1)
            # The log has the year of the shifted clock.
            year = f"\n{time.gmtime(time.time() + seconds).tm_year}-"
            cluster.wait_until(lambda: year in self.log(daemon), 60, "a line of that year")
        self.assertNotIn("lost", self.log("coordinator"))
        self.end_well(job, generations=1)

    def test_of_the_coordinator(self):
        self.check("coordinator")

    def test_of_an_agent(self):
        self.check("n1")


class Certificates(WallClocks):
    """Connections are verified by the clock of each end. Those that exist remain, and new ones are refused with a sentence
    that names the clock. The node may be away for the time between two attempts."""

    LISTEN = "127.0.0.1:0"
    NODE_TIMEOUT = 150

    def check_streams(self, job, pid):
        """The connection of the node is the first one, and it still serves."""
        result = self.submit("--max_restarts", 1, self.script("echo $ACCEL_GENERATION; exit 3", "fails.sh"))
        self.assertEqual(result.code, 3, result)
        self.assertEqual(self.log("n1").count("connected to the coordinator"), 1)
        self.assertTrue(cluster.is_alive(pid))

    def wait_for_line(self, name, text):
        cluster.wait_until(lambda: text in self.log(name), 60, f"{text!r} in the log of {name}")

    def check_return(self, job, pid):
        self.assertTrue(cluster.is_alive(pid))
        self.wait_for_nodes(1)
        self.end_well(job, generations=1)

    @staticmethod
    def year(seconds):
        return time.gmtime(time.time() + seconds).tm_year

    def check_node(self, seconds):
        job, pid = self.start_job()
        self.shift("n1", seconds)
        self.check_streams(job, pid)
        self.restart_coordinator()
        self.wait_for_line("n1", f"its clock, which says {self.year(seconds)}-")
        self.assertNotIn('"connected": true', self.accel("nodes", "--json").out)
        self.shift("n1", 0)
        self.check_return(job, pid)

    def test_of_a_node_that_is_ahead(self):
        self.check_node(YEAR)

    def test_of_a_node_that_is_behind(self):
        self.check_node(-YEAR)

    def check_coordinator(self, seconds):
        job, pid = self.start_job()
        for restart in (False, True):
            self.shift("coordinator", seconds)
            if restart:
                self.restart_coordinator()
                self.wait_for_line("n1", WRONG)
            else:
                self.wait_for_line("coordinator", "the clock of this machine was set")
                self.check_streams(job, pid)
            cluster.wait_until(lambda: WRONG in self.accel("whoami").err, 60, "a command names the clock")
            self.shift("coordinator", 0)
            cluster.wait_until(lambda: self.accel("whoami").code == 0, 60, "commands work again")
        self.check_return(job, pid)

    def test_of_a_coordinator_that_is_ahead(self):
        self.check_coordinator(YEAR)

    def test_of_a_coordinator_that_is_behind(self):
        self.check_coordinator(-YEAR)

    def test_of_a_user(self):
        clock = self.clock("user")
        for seconds in (YEAR, -YEAR):
            self.shift("user", seconds)
            result = self.accel("whoami", env=clock)
            self.assertEqual(result.code, 1, result)
            self.assertIn(f"this machine's clock says {self.year(seconds)}-", result.err)
        self.shift("user", 0)
        self.assertEqual(self.accel("whoami", env=clock).code, 0)


class Gap(Clock):
    """All processes of a node stand still, as in a virtual machine that is paused."""

    AGENTS = 2

    def stand_still(self, job):
        """Stops all processes of the job's node, and waits until the job says so. Returns the node's name and the processes."""
        worker = int(self.wait_for_file("pid.1"))
        shim = cluster.parent_of(worker)
        [number] = [i for i, agent in enumerate(self.agents) if agent.pid == cluster.parent_of(shim)]
        node = (self.agents[number].pid, shim, worker)
        for pid in node:
            os.kill(pid, signal.SIGSTOP)
        cluster.wait_until(lambda: f"Node n{number + 1} is silent" in self.status(job)["reason"], 60, "the job waits")
        return f"n{number + 1}", node

    @staticmethod
    def go_on(node):
        for pid in node:
            os.kill(pid, signal.SIGCONT)

    def test_a_job_of_one_node_waits_for_it_and_continues(self):
        job, worker = self.start_job()
        _, node = self.stand_still(job)
        let_pass(2)
        self.go_on(node)
        cluster.wait_until(lambda: "silent" not in self.status(job)["reason"], 60, "the node is back")
        self.assertTrue(cluster.is_alive(worker))
        self.end_well(job, generations=1)

    def test_a_node_that_stood_still_does_not_continue_a_job_that_runs_elsewhere(self):
        job, old = self.start_job()
        name, node = self.stand_still(job)
        self.assertEqual(self.accel("drain", "--now", name).code, 0)
        self.wait_for_file("pid.2")
        let_pass(2)
        self.go_on(node)
        cluster.wait_until(lambda: not cluster.is_alive(old), 60, "the part that was given up ends")
        self.wait_for_nodes(2)
        self.end_well(job, generations=2)


if __name__ == "__main__":
    cluster.main()
