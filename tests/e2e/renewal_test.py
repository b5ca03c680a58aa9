"""Certificates that renew by themselves, over more than a year. All processes share one wall clock, which the test moves
(tests/e2e/wall_clock.c). Certificates of nodes live 365 days and those of users 90."""

import shutil
import struct
import subprocess

from tests.e2e import cluster

DAY = 86400
WORKER = """
echo $$ > pid.$ACCEL_GENERATION
until [ -e end ]; do
  if [ -e say ]; then mv say said; cat said; fi
  sleep 0.05
done
echo $ACCEL_GENERATION >> results
"""


class Renewal(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def start(self, *command, env=None, **options):
        clock = self.path("clock")
        if not clock.exists():
            clock.write_bytes(bytes(8))
        ours = {"LD_PRELOAD": cluster.runfile("tests/e2e/libwall_clock.so"), "WALL_CLOCK_FILE": str(clock)}
        return super().start(*command, env={**ours, **(env or {})}, **options)

    def restart_coordinator(self, day=None):
        """Kills the coordinator. Starts it again, on this day if it is given."""
        self.coordinator.kill()
        self.coordinator.wait()
        if day is not None:
            with open(self.path("clock"), "r+b", buffering=0) as file:
                file.write(struct.pack("=q", day * DAY))
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])

    def go_on_to(self, day):
        """Lets time pass. The agent and the user connect again with what they have then."""
        before = self.connections()
        self.restart_coordinator(day)
        self.wait_for_nodes(1)
        # The coordinator hears the agent before the agent hears the coordinator.
        cluster.wait_until(lambda: self.connections() > before, 60, "the agent hears the coordinator")

    def connections(self):
        return self.log("n1").count("connected to the coordinator")

    def start_job(self):
        script = self.script(WORKER)
        job = self.accel("submit", "--cpu", "--max_restarts", 1, script).out.split()[0]
        return job, int(self.wait_for_file("pid.1"))

    def check_undisturbed(self, job, pid):
        [status] = self.jobs(job)
        self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1), self.log("n1"))
        self.assertTrue(cluster.is_alive(pid))

    def end_well(self, job):
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job succeeds")
        self.assertEqual(self.path("results").read_text(), "1\n")

    def states(self, kind):
        """Returns the states of all certificates of the nodes or users, as `accel node list` shows them."""
        listed = self.accel(kind, "list", env={"ACCEL_COORDINATOR": f"unix:{self.socket}"})
        self.assertEqual(listed.code, 0, listed)
        return sorted(word for line in listed.out.splitlines() for word in line.split() if word in ("valid", "replaced"))

    def certificate(self):
        return self.path("n1/node.crt").read_text()

    def test_a_node_and_a_user_outlive_their_certificates(self):
        job, pid = self.start_job()
        # A copy of the node's identity, as a thief of a backup has it.
        self.path("copy").mkdir()
        for name in ("node.key", "node.crt", "ca.crt", "coordinator"):
            shutil.copy2(self.path(f"n1/{name}"), self.path(f"copy/{name}"))
        first = self.certificate()
        for day in (40, 80, 120):
            self.go_on_to(day)
        self.assertEqual(self.certificate(), first)
        self.go_on_to(160)
        cluster.wait_until(lambda: self.certificate() != first, 60, "the agent renews its certificate")
        cluster.wait_until(lambda: "renewed this node's certificate" in self.log("n1"), 60, "a line in the log")
        # The stream was not broken, and so the old certificate is valid.
        self.assertEqual(self.connections(), 5)
        self.assertEqual(self.states("node"), ["valid", "valid"])
        self.check_undisturbed(job, pid)
        # The next connection uses the new certificate, which ends the old one.
        self.restart_coordinator()
        self.wait_for_nodes(1)
        cluster.wait_until(lambda: self.states("node") == ["replaced", "valid"], 60, "the old certificate is replaced")
        thief = self.run_command(cluster.AGENT, "--state_dir", self.path("copy"), "--name", "n1", *cluster.AS_ROOT)
        self.assertEqual(thief.code, 1, thief)
        self.assertIn("was replaced by a newer one", thief.err)
        self.check_undisturbed(job, pid)
        for day in (200, 240, 280, 320, 360, 400):
            self.go_on_to(day)
        self.check_undisturbed(job, pid)
        who = self.accel("whoami")
        self.assertRegex(who.out, "^user tester", who)
        self.end_well(job)
        # An agent that starts now has what it needs.
        self.agents[0].terminate()
        self.agents[0].wait(60)
        self.agents = [self.start_agent("n1")]
        self.wait_for_nodes(1)

    def test_a_command_that_runs_meanwhile_continues(self):
        job, _ = self.start_job()
        with open(self.path("followed"), "wb") as out:
            follower = self.start(cluster.ACCEL, "logs", "--follow", job, stdout=out, stderr=subprocess.STDOUT)
        self.say("one")
        self.go_on_to(40)  # Asks for the nodes, and so renews the login.
        # A later command uses the new certificate, which ends the old one and cuts its connections.
        self.assertEqual(self.accel("whoami").code, 0)
        cluster.wait_until(lambda: self.states("user") == ["replaced", "valid"], 60, "the old login is replaced")
        self.say("two")
        self.end_well(job)
        self.assertEqual(follower.wait(60), 0, self.path("followed").read_text())
        self.assertEqual(self.path("followed").read_text().count("one"), 1)

    def say(self, text):
        """Lets the job print a line, and waits until the follower has it."""
        self.path("draft").write_text(f"{text}\n")
        self.path("draft").rename(self.path("say"))
        cluster.wait_until(lambda: text in self.path("followed").read_text(), 60, f"the line {text}")

    def test_commands_at_the_same_time_leave_one_login(self):
        self.restart_coordinator(40)
        commands = [self.start(cluster.ACCEL, "whoami") for _ in range(8)]
        for command in commands:
            result = self.finish(command)
            self.assertEqual((result.code, result.err), (0, ""), result)
        self.assertEqual(self.accel("whoami").code, 0)
        cluster.wait_until(lambda: self.states("user") == ["replaced", "valid"], 60, "one renewed login")

    def test_a_login_that_cannot_be_renewed_is_named_before_it_ends(self):
        clusters = self.path(".config/accel/clusters")
        [folder] = [each for each in clusters.iterdir() if each.is_dir()]
        # The file of its lock cannot be opened.
        lock = clusters / f".renewal-{folder.name}"
        lock.unlink()
        lock.mkdir()
        self.restart_coordinator(40)
        result = self.accel("whoami")
        self.assertEqual((result.code, result.err), (0, ""), result)
        self.restart_coordinator(85)
        result = self.accel("whoami")
        self.assertEqual(result.code, 0, result)
        self.assertIn("your login ends at", result.err)


if __name__ == "__main__":
    cluster.main()
