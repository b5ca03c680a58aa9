"""Peers whose certificates are of no use: each says its own reason, the coordinator logs some lines for all of them, and
members are served as before."""

import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

from tests.e2e import cluster

REASON = "does not trust the certificate of the coordinator"
STRANGERS = 50
SECONDS = 5  # In which the strangers try again.
HANDSHAKES = 200
IDENTITY = ("node.key", "node.crt", "ca.crt", "coordinator")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Refusals(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def join_another_cluster(self):
        """Makes another cluster, which ends again, and a node of it in the folder `other`."""
        place = pathlib.Path(self.socket).with_name("other")
        other = self.start(cluster.COORDINATOR, "--socket", place, "--listen", "127.0.0.1:0", "--state_dir",
                           self.path("c2"), stderr=subprocess.DEVNULL)
        for _ in range(2):
            self.assertIn(b"listening on", other.stdout.readline())
        key = self.accel("node", "add", env={"ACCEL_COORDINATOR": f"unix:{place}"})
        self.assertEqual(key.code, 0, key)
        self.path("key").write_text(key.out)
        joined = self.run_command(cluster.AGENT, "join", "--state_dir", self.path("other"), "--name", "other", "--key_file",
                                  self.path("key"))
        self.assertEqual(joined.code, 0, joined)
        other.kill()
        other.wait()

    def copy_identity(self, name):
        folder = self.path(name)
        folder.mkdir(mode=0o700)
        for file in IDENTITY:
            shutil.copy2(self.path(f"other/{file}"), folder / file)

    def lines(self, name):
        return self.log(name).count("\n")

    def check_members(self):
        self.assertEqual(self.accel("whoami").code, 0)
        self.assertEqual(self.accel("nodes", "--json").out.count('"connected": true'), 1)
        self.assertEqual(self.log("n1").count("connected to the coordinator"), 1)

    def test_agents_of_another_cluster(self):
        self.join_another_cluster()
        names = [f"stranger{i}" for i in range(STRANGERS)]
        for name in names:
            self.copy_identity(name)
        before, cpu = self.lines("coordinator"), cpu_seconds(self.coordinator.pid)
        begin = time.monotonic()
        agents = [self.start_logged(f"{name}.log", cluster.AGENT, "--state_dir", self.path(name), *cluster.AS_ROOT)
                  for name in names]
        for name in names:
            cluster.wait_until(lambda: REASON in self.log(name), 60, f"{name} says why")
        end = time.monotonic() + SECONDS
        cluster.wait_until(lambda: time.monotonic() > end, SECONDS + 60, "")
        seconds = time.monotonic() - begin
        # As the client ends the handshake, the coordinator may have nothing to say.
        self.assertLessEqual(self.lines("coordinator") - before, seconds + 2)
        self.assertLess(cpu_seconds(self.coordinator.pid) - cpu, 5)
        for name in names:
            self.assertLessEqual(self.lines(name), 4 + seconds)
        self.assertLess(sum(cpu_seconds(agent.pid) for agent in agents), STRANGERS)
        self.check_members()
        for agent in agents:
            agent.terminate()
        for agent in agents:
            self.assertEqual(agent.wait(60), 0)

    def test_clients_without_a_certificate(self):
        host, _, port = self.env["ACCEL_COORDINATOR"].rpartition(":")
        context = ssl.create_default_context(cafile=self.path("n1/ca.crt"))
        context.set_alpn_protocols(["h2"])
        before, begin = self.lines("coordinator"), time.monotonic()
        for _ in range(HANDSHAKES):
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    with context.wrap_socket(connection, server_hostname="coordinator.accel.internal") as secured:
                        # A refusal by TLS 1.3 arrives when the client believes that it is connected.
                        if not secured.recv(1):
                            raise ConnectionError("closed")
        cluster.wait_until(lambda: "peer did not return a certificate" in self.log("coordinator"), 60, "a line in the log")
        self.assertLessEqual(self.lines("coordinator") - before, time.monotonic() - begin + 2)
        self.check_members()

    def test_an_agent_whose_certificate_is_of_another_authority(self):
        self.join_another_cluster()
        shutil.copy2(self.path("n1/ca.crt"), self.path("other/ca.crt"))
        result = self.run_command(cluster.AGENT, "--state_dir", self.path("other"), "--name", "other", *cluster.AS_ROOT)
        self.assertEqual(result.code, 1, result)
        self.assertIn("this client's certificate: unable to get local issuer certificate", result.err)
        self.assertNotIn("gRPC reports", self.log("coordinator"))
        self.check_members()


if __name__ == "__main__":
    cluster.main()
