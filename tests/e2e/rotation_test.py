"""The rotation of a cluster's authority, with real processes: `accel-coordinator rotate-ca` while a job runs."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

from tests.e2e import cluster

WORKER = """
echo $$ > pid.$ACCEL_GENERATION
until [ -e end ]; do
  if [ -e say ]; then mv say said; cat said; fi
  sleep 0.05
done
echo $ACCEL_GENERATION >> results
"""
BEGIN = "-----BEGIN CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----"


class Rotation(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def rotate(self, *flags):
        return self.run_command(cluster.COORDINATOR, "rotate-ca", "--state_dir", self.path("coordinator"), *flags)

    def begin(self):
        result = self.rotate()
        self.assertEqual(result.code, 0, result)
        self.assertIn("has begun", result.out)
        cluster.wait_until(lambda: "authority is being rotated" in self.log("coordinator"), 60,
                           "the coordinator follows the rotation")

    def restart_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])

    def stop(self, agent):
        agent.terminate()
        self.assertEqual(agent.wait(60), 0)

    def authorities(self, name):
        """Returns the certificates of a file, each in PEM."""
        text = self.path(name).read_text().split(KEY)[0]
        return [BEGIN + part for part in text.split(BEGIN)[1:]]

    def server_is_of(self, authority):
        """Returns whether the coordinator shows a certificate of this authority."""
        context = ssl.create_default_context(cadata=authority)
        host, port = self.env["ACCEL_COORDINATOR"].split(":")
        try:
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                context.wrap_socket(connection, server_hostname="coordinator.accel.internal").close()
            return True
        except ssl.SSLCertVerificationError:
            return False

    def say(self, text):
        """Lets the job print a line, and waits until the follower has it."""
        self.path("draft").write_text(f"{text}\n")
        self.path("draft").rename(self.path("say"))
        cluster.wait_until(lambda: text in self.path("followed").read_text(), 60, f"the line {text}")

    def finish_when_all_follow(self):
        """Lets the user run commands until --finish is accepted."""

        def finished():
            self.assertEqual(self.accel("whoami").code, 0)
            result = self.rotate("--finish")
            return result if result.code == 0 else None

        return cluster.wait_until(finished, 150, "all members have followed the rotation")

    def test_a_rotation_disturbs_no_job(self):
        script = self.script(WORKER)
        job = self.accel("submit", "--cpu", "--max_restarts", 1, script).out.split()[0]
        pid = int(self.wait_for_file("pid.1"))
        with open(self.path("followed"), "wb") as out:
            follower = self.start(cluster.ACCEL, "logs", "--follow", job, stdout=out, stderr=subprocess.DEVNULL)
        self.say("one")
        [old] = self.authorities("coordinator/ca.crt")
        early_key = self.accel("node", "add", env={"ACCEL_COORDINATOR": f"unix:{self.socket}"}).out
        # Stopped, because otherwise it may follow before --finish is refused.
        cluster.stop(self.agents[0].pid)
        self.begin()
        [new] = self.authorities("coordinator/ca.next")
        again = self.rotate()
        self.assertEqual((again.code, self.authorities("coordinator/ca.next")), (0, [new]), again)
        self.assertIn("is being rotated already", again.out)
        early = self.rotate("--finish")
        self.assertEqual(early.code, 1, early)
        self.assertIn("2 valid certificates are still of the old authority", early.err)
        self.assertRegex(early.err, "node n1, certificate [0-9a-f]{32}, last used")
        self.assertRegex(early.err, "user tester, certificate [0-9a-f]{32}, last used")
        os.kill(self.agents[0].pid, signal.SIGCONT)
        self.assertTrue(self.server_is_of(old))
        # New nodes join by the pin of either authority, and trust both.
        self.path("early_key").write_text(early_key)
        joined = self.run_command(cluster.AGENT, "join", "--state_dir", self.path("n2"), "--name", "n2", "--key_file",
                                  self.path("early_key"))
        self.assertEqual(joined.code, 0, joined)
        self.agents += [self.start_agent("n2"), self.start_agent("n3")]
        self.wait_for_nodes(3)
        for name in ("n2", "n3"):
            self.assertEqual(self.authorities(f"{name}/ca.crt"), [new, old])
        # A coordinator that is killed continues the rotation.
        self.restart_coordinator()
        self.wait_for_nodes(3)
        self.assertTrue(self.server_is_of(old))
        # Before the end, because the agent drops the old authority at any time after it.
        cluster.wait_until(lambda: self.authorities("n1/ca.crt") == [new, old], 150, "the agent trusts both")
        finished = self.finish_when_all_follow()
        self.assertIn("is finished", finished.out)
        cluster.wait_until(lambda: self.server_is_of(new), 60, "the coordinator shows a certificate of the new authority")
        self.assertFalse(self.server_is_of(old))
        self.assertEqual(self.authorities("coordinator/ca.crt"), [new])
        for name in ("ca.key", "ca.next"):
            self.assertFalse(self.path(f"coordinator/{name}").exists())
        self.assertIn("no rotation", self.rotate("--status").out)
        # Neither the job nor what its user saw was disturbed.
        self.say("two")
        [status] = self.jobs(job)
        self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1), self.log("n1"))
        self.assertTrue(cluster.is_alive(pid))
        # Without a word to anyone, agents drop the old authority.
        cluster.wait_until(lambda: self.authorities("n1/ca.crt") == [new], 120, "the agent drops the old authority")
        self.restart_coordinator()
        self.wait_for_nodes(3)
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job succeeds")
        self.assertEqual(self.path("results").read_text(), "1\n")
        self.assertEqual(follower.wait(60), 0, self.path("followed").read_text())
        self.assertEqual(self.path("followed").read_text().split(), ["one", "two"])
        self.check_records()

    def check_records(self):
        lines = [json.loads(line) for line in self.path("coordinator/audit.jsonl").read_text().splitlines()]
        steps = [(line["action"], line["caller"]) for line in lines if "rota" in line["action"]]
        self.assertEqual(steps, [("rotate_authority", "owner"), ("finish_rotation", "owner")])
        for name in ("coordinator.log", "n1.log", "coordinator/audit.jsonl"):
            self.assertNotIn("PRIVATE", self.path(name).read_text())

    def test_a_node_that_was_away_comes_back_in_time_or_joins_again(self):
        for name in ("n2", "n3"):
            self.agents.append(self.start_agent(name))
        self.wait_for_nodes(3)
        for agent in self.agents[1:]:
            self.stop(agent)
        # A laptop that is off has what the user has now.
        shutil.copytree(self.path(".config"), self.path("laptop/.config"))
        self.begin()
        # Its certificate is of the old authority, and so is that of the coordinator.
        self.agents[1] = self.start_agent("n2")
        self.wait_for_nodes(2)

        def others_followed():
            self.assertEqual(self.accel("whoami").code, 0)
            status = self.rotate("--status")
            self.assertEqual(status.code, 0, status)
            return status if "and 1 of the old one" in status.out else None

        status = cluster.wait_until(others_followed, 150, "all but one have followed")
        self.assertIn("node n3, ", status.out)
        refused = self.rotate("--finish")
        self.assertEqual(refused.code, 1, refused)
        forced = self.rotate("--finish", "--force")
        self.assertEqual(forced.code, 0, forced)
        self.assertIn("node n3, ", forced.out)
        cluster.wait_until(lambda: "is finished" in self.log("coordinator"), 60, "the coordinator follows")
        node = self.path("n3/node_id").read_text()
        self.agents[2] = self.start_agent("n3")
        cluster.wait_until(lambda: "was rotated while it was away" in self.log("n3"), 60, "the node is told why")
        laptop = self.accel("whoami", env={"HOME": str(self.path("laptop"))})
        self.assertEqual(laptop.code, 1, laptop)
        self.assertIn("run: accel login", laptop.err)
        self.assertEqual(len(laptop.err.splitlines()), 1, laptop)
        self.stop(self.agents[2])
        self.assertEqual(self.log("n3").count("run: accel-agent join"), 1, self.log("n3"))
        self.enrol(("node", "add"), cluster.AGENT, "join", "--state_dir", self.path("n3"), "--name", "n3")
        self.assertEqual(self.path("n3/node_id").read_text(), node)
        self.agents[2] = self.start_agent("n3")
        self.wait_for_nodes(3)


class DamagedFiles(cluster.ClusterTest):
    """What a running coordinator cannot use leaves it as it is."""

    LISTEN = "127.0.0.1:0"

    def check(self, name, text):
        good = self.path(f"coordinator/{name}").read_text()
        self.path(f"coordinator/{name}").write_text(text)
        cluster.wait_until(lambda: "cannot follow the rotation of the authority, retrying" in self.log("coordinator"), 60,
                           "the fault is logged")
        self.assertEqual(self.accel("whoami").code, 0)
        self.start_agent("n2")
        self.wait_for_nodes(2)
        self.assertEqual(self.log("n1").count("connected to the coordinator"), 1)
        self.path(f"coordinator/{name}").write_text(good)

    def test_garbage_as_the_certificate_of_the_authority(self):
        self.check("ca.crt", "garbage\n")

    def test_the_key_of_another(self):
        other = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
                               capture_output=True, check=True).stdout.decode()
        self.assertTrue(other.startswith(KEY), other)
        self.check("ca.key", other)


class Refusals(cluster.Test):
    def rotate(self, *flags):
        return self.run_command(cluster.COORDINATOR, "rotate-ca", *flags)

    def test_a_folder_without_a_cluster_is_left_as_it_is(self):
        for flags in ((), ("--status",), ("--finish", "--force")):
            missing = self.rotate("--state_dir", self.path("missing"), *flags)
            self.assertEqual(missing.code, 1, missing)
            self.assertFalse(self.path("missing").exists())
            self.path("empty").mkdir(exist_ok=True)
            empty = self.rotate("--state_dir", self.path("empty"), *flags)
            self.assertEqual(empty.code, 1, empty)
            self.assertIn("no coordinator has run there", empty.err)
            self.assertEqual(list(self.path("empty").iterdir()), [])

    @unittest.skipIf(os.geteuid() != 0, "only root can make a folder of another user")
    def test_root_makes_no_files_that_the_coordinator_could_not_read(self):
        self.path("other").mkdir()
        os.chown(self.path("other"), 65534, 65534)
        result = self.rotate("--state_dir", self.path("other"))
        self.assertEqual(result.code, 1, result)
        self.assertIn("run this command as that user: sudo -u nobody", result.err)


if __name__ == "__main__":
    cluster.main()
