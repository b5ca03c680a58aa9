"""Certificates with real processes: a node joins, a user logs in, both are revoked.

The coordinator has an address beyond loopback, 10.77.0.1, in a network namespace of the test.
"""

import contextlib
import json
import pathlib
import subprocess
import time

from tests.e2e import cluster, hosts

_ADDRESS = "10.77.0.1"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net")
_HOLD = ("sh", "-c", f"ip link set lo up && ip addr add {_ADDRESS}/32 dev lo && echo ok && exec cat")


class Members(cluster.ClusterTest):
    AGENTS = 0
    LISTEN = f"{_ADDRESS}:0"
    ENROLS = False  # These tests do it themselves.

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.place = subprocess.Popen([*_UNSHARE, *_HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.place.stdout.close)
        self.addCleanup(self.place.communicate)
        self.assertEqual(self.place.stdout.readline(), b"ok\n")
        super().setUp()
        self.tcp = self.env["ACCEL_COORDINATOR"]
        # Administrators use the Unix socket.
        self.env["ACCEL_COORDINATOR"] = f"unix:{self.socket}"

    def start(self, *command, **options):
        inside = ("nsenter", "-t", self.place.pid, "-U", "-n", "--preserve-credentials")
        return super().start(*inside, *command, **options)

    def key(self, *command):
        result = self.accel(*command)
        self.assertEqual(result.code, 0, result)
        self.assertTrue(result.out.startswith(f"accel1.{self.tcp}."), result)
        return result.out.strip()

    def with_key(self, key, *command, env=None):
        """Runs a command that reads the key from standard input."""
        process = self.start(*command, stdin=subprocess.PIPE, env=env)
        process.stdin.write(key.encode() + b"\n")
        process.stdin.flush()
        return self.finish(process)

    def join(self, key, name):
        return self.with_key(key, cluster.AGENT, "join", "--state_dir", self.path(name), "--name", name)

    def remote(self, *arguments):
        """Runs a command as a user of another machine, who has no Unix socket."""
        return self.accel(*arguments, env={"ACCEL_COORDINATOR": "", "HOME": str(self.path("ann"))})

    def audit(self):
        return [json.loads(line) for line in self.path("coordinator/audit.jsonl").read_text().splitlines()]

    def connected(self):
        return self.accel("nodes", "--json").out.count('"connected": true')

    def test_a_node_joins_works_and_is_revoked(self):
        key = self.key("node", "add")
        joined = self.join(key, "n1")
        self.assertEqual(joined.code, 0, joined)
        self.assertIn("has joined cluster", joined.out)
        # Its coordinator's address came with the key, and its name is in its certificate.
        other = self.run_command(cluster.AGENT, "--state_dir", self.path("n1"), "--name", "n8", env={"ACCEL_COORDINATOR": ""})
        self.assertEqual(other.code, 2, other)
        self.assertIn("has joined its cluster as n1", other.err)
        # An agent that is root runs no job of root for a coordinator at a port, unless it may.
        agent = self.start_logged("n1.log", cluster.AGENT, "--state_dir", self.path("n1"), *cluster.AS_ROOT,
                                  env={"ACCEL_COORDINATOR": ""})
        self.agents.append(agent)
        self.wait_for_nodes(1)
        self.assertIn("n1 ", self.accel("nodes").out)
        script = self.script("exec sleep 600")
        job = self.accel("submit", "--cpu", script).out.split()[0]
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        listed = self.accel("node", "list").out
        self.assertRegex(listed, r"n1 +node +valid")
        begin = time.monotonic()
        self.assertEqual(self.accel("node", "revoke", "n1").code, 0)
        cluster.wait_until(lambda: self.connected() == 0, 60, "the revoked node is no longer connected")
        print(f"revoked and cut after {time.monotonic() - begin:.3f} s")
        # Its part of the job is lost at once, not after the silence of --node_timeout.
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] != "RUNNING", self.NODE_TIMEOUT - 10, "the job knows")
        print(f"its job knew after {time.monotonic() - begin:.3f} s")
        self.assertIn("its certificate was revoked", self.accel("status", job).out)
        self.assertRegex(self.accel("node", "list").out, r"n1 +node +revoked")
        self.assertEqual(self.accel("nodes").out.count("n1 "), 1)
        cluster.wait_until(lambda: "was revoked" in self.log("n1"), 60, "the agent is told why")
        agent.terminate()
        agent.wait(60)

    def test_a_key_is_used_once_but_a_lost_answer_is_given_again(self):
        key = self.key("node", "add")
        self.assertEqual(self.join(key, "n1").code, 0)
        before = self.path("n1/node.crt").read_text()
        self.assertEqual(self.join(key, "n1").code, 0)
        self.assertEqual(self.path("n1/node.crt").read_text(), before)
        other = self.join(key, "n2")
        self.assertEqual(other.code, 1, other)
        self.assertIn("used up", other.err)
        damaged = self.join(key[:-1], "n2")
        self.assertEqual(damaged.code, 2, damaged)
        self.assertIn("cut off", damaged.err)

    def test_a_node_that_has_not_joined_is_told_what_to_do(self):
        agent = self.run_command(cluster.AGENT, "--state_dir", self.path("n1"), "--coordinator", self.tcp)
        self.assertEqual(agent.code, 1, agent)
        self.assertIn("accel node add", agent.err)

    def test_a_user_logs_in_and_is_revoked(self):
        key = self.key("user", "add", "ann")
        self.path("ann").mkdir()
        login = self.with_key(key, cluster.ACCEL, "login", "--json", env={"HOME": str(self.path("ann"))})
        self.assertEqual(login.code, 0, login)
        self.assertEqual(json.loads(login.out)["name"], "ann")
        self.assertEqual(set(json.loads(login.out)), {"schema_version", "cluster", "address", "name"})
        who = self.remote("whoami")
        self.assertRegex(who.out, "^user ann of cluster .*role user", who)
        self.assertEqual(self.remote("nodes").code, 0)
        # A user is no administrator.
        refused = self.remote("user", "add", "eve")
        self.assertEqual(refused.code, 1, refused)
        self.assertIn("AddToken needs the role admin, and ann has the role user", refused.err)
        self.assertEqual(self.accel("user", "add", "ann", "--role", "admin").code, 0)
        self.assertEqual(self.remote("user", "list").code, 0)
        self.assertEqual(self.accel("user", "revoke", "ann").code, 0)
        revoked = self.remote("nodes")
        expected = {("add_key", "owner", "user ann"), ("add_key", "owner", "user ann as ADMIN_ROLE"),
                    ("refuse", "user", "accel.v1.Access.AddToken"), ("revoke", "owner", "user ann")}
        # A thread writes the audit log, after the answer.
        cluster.wait_until(lambda: expected <= {(line["action"], line["caller"], line["object"]) for line in self.audit()}, 60,
                           f"the audit log has {expected}")
        [enrolled] = [line for line in self.audit() if line["action"] == "enrol"]
        self.assertEqual((enrolled["caller"], enrolled["name"], enrolled["result"]), ("user", "ann", "ok"))
        self.assertIn(f"ipv4:{_ADDRESS}:", enrolled["peer"])
        self.assertEqual(revoked.code, 1, revoked)
        self.assertIn("was revoked", revoked.err)

    def test_members_survive_the_coordinator(self):
        self.assertEqual(self.join(self.key("node", "add"), "n1").code, 0)
        self.start_agent("n1", env={"ACCEL_COORDINATOR": ""})
        self.wait_for_nodes(1)
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.tcp)
        self.env["ACCEL_COORDINATOR"] = f"unix:{self.socket}"
        self.wait_for_nodes(1)

    def test_no_file_and_no_output_has_a_secret(self):
        key = self.key("node", "add")
        joined = self.join(key, "n1")
        secret = key.split(".")[-3]
        self.start_agent("n1", env={"ACCEL_COORDINATOR": ""})
        self.wait_for_nodes(1)
        texts = [joined.out, joined.err, self.accel("node", "list", "--json").out]
        for path in pathlib.Path(self.dir).rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # A daemon has just renamed or removed it.
                if path.is_file():
                    texts.append(path.read_bytes().decode(errors="replace"))
        self.assertEqual([text[:200] for text in texts if secret in text], [])
        # The search finds what there is.
        self.assertTrue(any("BEGIN PRIVATE KEY" in text for text in texts))


if __name__ == "__main__":
    cluster.main()
