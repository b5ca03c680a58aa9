"""A coordinator with fewer descriptors than callers."""

import os
import resource
import socket

from tests.e2e import cluster, descriptors

LIMIT = 128


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


class FewDescriptors(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def start_coordinator(self, *flags, **options):
        super().start_coordinator(*flags, preexec_fn=limit_descriptors, **options)

    def open_descriptors(self):
        if os.geteuid() != 0:
            self.skipTest("only root sees what a daemon has open")
        return descriptors.number(self.coordinator.pid)

    def connect(self, count):
        """Opens this many connections that send nothing. The kernel accepts them even if the coordinator does not."""
        host, _, port = self.env["ACCEL_COORDINATOR"].rpartition(":")
        connections = []
        for _ in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex((host, int(port)))
            connections.append(connection)
        return connections

    def test_idle_connections_beyond_the_limit_cost_nothing_but_themselves(self):
        job = self.accel("submit", "--cpu", self.script("touch up; exec sleep 600")).out.split()[0]
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        before = self.open_descriptors()
        flood = self.connect(2 * LIMIT)
        # Some connections are held open. The first one over the limit has been closed or waits in the kernel.
        cluster.wait_until(lambda: self.open_descriptors() > LIMIT / 2, 60, "the coordinator is flooded")
        cluster.wait_until(lambda: any(is_closed(connection) for connection in flood), 60, "a connection is refused")
        for connection in flood:
            connection.close()
        cluster.wait_until(lambda: self.open_descriptors() <= before + 2, 60, "the connections are closed")
        nodes = self.accel("nodes")
        self.assertEqual(nodes.code, 0, nodes)
        self.start_agent("n2")
        self.wait_for_nodes(2)
        [status] = self.jobs(job)
        self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1), status)
        self.assertNotIn("coordinator unreachable", self.log("n1"))

    def test_a_client_that_comes_during_the_flood_is_served_after_it(self):
        flood = self.connect(2 * LIMIT)
        cluster.wait_until(lambda: self.open_descriptors() > LIMIT / 2, 60, "the coordinator is flooded")
        waiting = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "/bin/true")
        for connection in flood:
            connection.close()
        result = self.finish(waiting)
        self.assertEqual(result.code, 0, result)


if __name__ == "__main__":
    cluster.main()
