"""The daemons under a service manager: they report that they are ready, and no worker can do so in their place."""

import json
import os
import signal
import socket
import tempfile

from tests.e2e import cluster


class Manager:
    """The socket of a service manager (sd_notify(3))."""

    def __init__(self, test):
        # Not in the test's own folder, because the path of a socket has at most 107 bytes.
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        test.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)
        test.addCleanup(self.socket.close)

    def message(self):
        return self.socket.recv(4096).decode().split("\n")


class Service(cluster.ClusterTest):
    AGENTS = 0

    def setUp(self):
        super().setUp()
        self.manager = Manager(self)

    def agent(self):
        return self.start_agent("n1", env={"NOTIFY_SOCKET": self.manager.path})

    def test_the_coordinator_is_ready_once_it_serves(self):
        self.coordinator.send_signal(signal.SIGTERM)
        self.coordinator.wait(timeout=60)
        self.start_coordinator(env={"NOTIFY_SOCKET": self.manager.path})
        self.assertEqual(self.manager.message(), ["READY=1", f"STATUS=listening on {self.env['ACCEL_COORDINATOR']}", ""])

    def test_workers_survive_a_restart_of_the_agents_unit(self):
        """As systemd does with KillMode=process: SIGTERM to the agent alone, and a new agent."""
        agent = self.agent()
        self.agents = [agent]
        self.assertEqual(self.manager.message()[:2],
                         ["READY=1", f"STATUS=node n1 of the coordinator {self.env['ACCEL_COORDINATOR']}"])
        script = self.script("echo $$ > worker.tmp; env > worker.env; mv worker.tmp worker.pid; "
                             "until [ -e end ]; do sleep 0.05; done")
        job = self.accel("submit", "--cpu", script).out.strip()
        pid = int(self.wait_for_file("worker.pid"))
        self.assertNotIn("NOTIFY_SOCKET", self.path("worker.env").read_text())

        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(timeout=60), 0)
        self.assertTrue(cluster.is_alive(pid))
        self.agents = [self.agent()]
        self.assertEqual(self.manager.message()[0], "READY=1")
        self.path("end").touch()

        def ended():
            [status] = self.jobs(job)
            return status["phase"] == "SUCCEEDED" and status
        status = cluster.wait_until(ended, 60, "the job ends well")
        self.assertEqual(len(status["generations"]), 1, json.dumps(status))

    def test_a_manager_that_is_gone_does_no_harm(self):
        os.unlink(self.manager.path)
        self.agents = [self.agent()]
        self.wait_for_nodes(1)


if __name__ == "__main__":
    cluster.main()
