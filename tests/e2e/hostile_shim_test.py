"""What the shim of a user could send to root's agent if it were no longer accel's program: the agent lives, logs a few lines,
runs the jobs of others, and can end the job."""

import os
import pathlib
import pwd
import signal
import time

from tests.e2e import cluster
from tests.e2e.users import ANN, BOB, UserTest

NOT_UNDERSTOOD = "a shim is not understood"
SECONDS = 3  # That an attack lasts before it is judged.
LINES = 5  # In the agent's log, for an attack and the job that runs meanwhile.


class HostileShim(UserTest):
    def setUp(self):
        super().setUp()
        shim = pathlib.Path(self.shim)
        shim.rename(self.public / "real-shim")
        shim.write_text(pathlib.Path(cluster.runfile("tests/e2e/hostile_shim.py")).read_text())
        shim.chmod(0o755)
        (self.public / "attacker").write_text(str(pwd.getpwnam(ANN).pw_uid))
        self.other, self.other_pid, _ = self.hold(user=BOB)

    def attack(self, name, phase="RUNNING"):
        """Starts a job of the attacker, and then the attack. Returns the job and the pid of its worker."""
        job, pid, _ = self.hold()
        lines = self.lines()
        (self.public / "attack").write_text(name)
        cluster.wait_until((self.public / "attacking").exists, 60, "the attack begins")
        end = time.monotonic() + SECONDS
        cluster.wait_until(lambda: time.monotonic() > end, SECONDS + 60, "")
        self.check_others()
        self.assertLessEqual(self.lines() - lines, LINES)
        self.assertEqual(self.jobs(job)[0]["phase"], phase)
        return job, pid

    def lines(self):
        return self.log("n1").count("\n")

    def check_others(self):
        self.assertIsNone(self.agents[0].poll())
        self.assertEqual(self.shell("echo lives", user=BOB).text, "lives\n")
        [other] = self.jobs(self.other)
        self.assertEqual((other["phase"], len(other["generations"])), ("RUNNING", 1))
        self.assertTrue(cluster.is_alive(self.other_pid))

    def check_end(self, job, pid, phase):
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == phase, 120, f"the job is {phase}")
        cluster.wait_until(lambda: not cluster.is_alive(pid), 60, "the worker has ended")
        self.check_others()
        self.cancel(self.other)

    def check_not_understood(self, name):
        job, pid = self.attack(name)
        self.assertEqual(self.log("n1").count(NOT_UNDERSTOOD), 1)
        os.kill(pid, signal.SIGKILL)
        self.check_end(job, pid, "FAILED")
        self.assertIn("killed by SIGKILL (9)", self.accel("status", job).out)

    def check_can_be_cancelled(self, name):
        job, pid = self.attack(name)
        self.assertNotIn(NOT_UNDERSTOOD, self.log("n1"))
        self.assertEqual(self.accel("cancel", "--now", job).code, 0)
        self.check_end(job, pid, "CANCELLED")

    def test_bytes_that_are_no_frame(self):
        self.check_not_understood("garbage")

    def test_a_frame_of_four_gigabytes(self):
        self.check_not_understood("oversized")

    def test_a_report_that_is_none(self):
        self.check_not_understood("malformed")

    def test_half_a_frame(self):
        self.check_can_be_cancelled("truncated")

    def test_connections_that_are_closed(self):
        self.check_can_be_cancelled("closed")

    def test_a_flood_of_refusals(self):
        self.check_can_be_cancelled("refusals")
        self.assertEqual(self.log("n1").count("a shim refused a command"), 1)

    def test_a_flood_of_reports_that_the_job_runs(self):
        self.check_can_be_cancelled("reports")

    def test_reports_that_the_job_has_ended_and_that_it_runs(self):
        job, pid = self.attack("ends", phase="FAILED")
        self.check_end(job, pid, "FAILED")

    def test_bytes_that_are_no_frame_before_the_first_report(self):
        (self.public / "attack").write_text("garbage")
        result = self.shell("sleep 1000")
        self.assertNotEqual(result.code, 0, result)
        self.assertIn("accel-shim was killed by signal 9", result.err)
        self.assertEqual(self.log("n1").count(NOT_UNDERSTOOD), 1)
        self.check_others()
        self.cancel(self.other)


if __name__ == "__main__":
    cluster.main()
