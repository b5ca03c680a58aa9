"""Agents that advertise an address other than 127.0.0.1: jobs of several processes reach their store there."""

import pathlib
import sys
import unittest

from tests.e2e import cluster, hosts

# Greets the rendezvous store in its own protocol (VALIDATE, PING) and expects its answer. The store ends with the ranks
# of its node, so each rank waits until all have been answered.
WORKER = """
import os, pathlib, socket, struct, time
with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), timeout=20) as store:
    store.sendall(struct.pack("<BI", 0, 0x3C85F7CE) + struct.pack("<BI", 13, 4711))
    answer = store.recv(4, socket.MSG_WAITALL)
assert answer == struct.pack("<I", 4711), answer
print("store at", os.environ["MASTER_ADDR"])
pathlib.Path("answered.%(ACCEL_JOB_ID)s.%(RANK)s" % os.environ).touch()
while len(list(pathlib.Path().glob("answered.%(ACCEL_JOB_ID)s.*" % os.environ))) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.02)
"""


class Addresses(cluster.ClusterTest):
    AGENTS = 0

    def worker(self):
        return self.script(WORKER, shell=sys.executable)

    def check(self, address, *arguments):
        result = self.submit("--processes_per_node", 2, *arguments, self.worker())
        self.assertEqual(result.code, 0, result)
        lines = self.accel("logs", result.out.split()[0]).out.splitlines()
        self.assertEqual(sorted(set(line.partition("] ")[2] for line in lines)), [f"store at {address}"])


class AnotherLoopbackAddress(Addresses):
    def test_one_node_and_two(self):
        self.start_agent("n1", flags=("--advertise", "127.0.0.2"))
        self.start_agent("n2", flags=("--advertise", "127.0.0.3"))
        self.wait_for_nodes(2)
        self.check("127.0.0.1")
        self.check("127.0.0.2", "--nodes", 2)


def has_ipv6():
    addresses = pathlib.Path("/proc/net/if_inet6")
    return addresses.exists() and "0" * 31 + "1 " in addresses.read_text()


@unittest.skipUnless(has_ipv6(), "this machine has no IPv6")
class IPv6(Addresses):
    def start_coordinator(self):
        super().start_coordinator(listen="[::1]:0")

    def test_one_node_and_two(self):
        """The addresses of both agents are ::1."""
        self.start_agent("n1")
        self.start_agent("n2")
        self.wait_for_nodes(2)
        self.check("127.0.0.1")
        self.check("::1", "--nodes", 2)


class RealAddress(Addresses):
    """The coordinator and the agent are on one host, and the agent advertises the address of its real interface."""

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(1, real=True)
        self.addCleanup(self.hosts.close)
        super().setUp()

    def start(self, *command, **options):
        return super().start(*self.hosts.inside(1), *command, **options)

    def listeners(self):
        """The addresses on which anything listens on the host."""
        out = self.run_command("ss", "-Hltn").out
        return {line.split()[3].rpartition(":")[0] for line in out.splitlines()}

    def test_a_job_of_one_node_stays_on_loopback(self):
        self.start_agent("n1", flags=("--advertise", "eth0"))
        self.wait_for_nodes(1)
        self.assertEqual(self.listeners(), {"127.0.0.1", "10.77.0.1"})
        self.check("127.0.0.1")

    def test_what_the_host_does_not_have_is_refused(self):
        agent = self.finish(self.start_agent("n1", flags=("--advertise", "10.78.0.0/16")))
        self.assertEqual(agent.code, 1)
        self.assertIn("--advertise 10.78.0.0/16: this host has no such address", self.log("n1"))
        self.assertIn("eth0 10.77.0.1", self.log("n1"))

    def test_a_range_of_two_ports_serves_two_jobs(self):
        """A third job waits, with the range in its reason, and runs when one of the others has ended."""
        self.start_agent("n1", flags=("--port_range", "5000-5001"))
        self.wait_for_nodes(1)
        stay = self.script("until [ -e end.$ACCEL_JOB_ID ]; do sleep 0.05; done")
        ids = [self.accel("submit", "--cpu", "--processes_per_node", 2, stay).out.split()[0] for _ in range(2)]
        for job in ids:
            cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "two jobs run")
        ports = {self.jobs(job)[0]["generations"][-1]["master_port"] for job in ids}
        self.assertEqual(ports, {5000, 5001})
        third = self.accel("submit", "--cpu", "--processes_per_node", 2, stay).out.split()[0]
        cluster.wait_until(lambda: "no free port in 5000-5001" in self.jobs(third)[0].get("reason", ""), 60,
                           "the third job waits")
        self.assertIn("no free port in 5000-5001", self.accel("nodes").out)
        self.path(f"end.{ids[0]}").touch()
        cluster.wait_until(lambda: self.jobs(third)[0]["phase"] == "RUNNING", 60, "the third job runs")
        for job in (ids[1], third):
            self.path(f"end.{job}").touch()
            cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "all jobs end")


if __name__ == "__main__":
    cluster.main()
