"""Agents that advertise an address other than 127.0.0.1: jobs of several processes reach their store there."""

import pathlib
import sys
import unittest

from tests.e2e import cluster

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
        result = self.submit("--processes_per_node", 2, *arguments, self.worker(), seconds=40)
        self.assertEqual(result.code, 0, result)
        lines = self.accel("logs", result.out.split()[0]).out.splitlines()
        self.assertEqual(sorted(set(line.partition("] ")[2] for line in lines)), [f"store at {address}"])


class AnotherLoopbackAddress(Addresses):
    def test_one_node_and_two(self):
        self.start_agent("n1", flags=("--advertise", "127.0.0.2"))
        self.start_agent("n2", flags=("--advertise", "127.0.0.3"))
        self.wait_for_nodes(2)
        self.check("127.0.0.2")
        self.check("127.0.0.2", "--nodes", 2)


def has_ipv6():
    addresses = pathlib.Path("/proc/net/if_inet6")
    return addresses.exists() and "0" * 31 + "1 " in addresses.read_text()


@unittest.skipUnless(has_ipv6(), "this machine has no IPv6")
class IPv6(Addresses):
    def start_coordinator(self):
        super().start_coordinator(listen="[::1]:0")

    def test_one_node(self):
        self.start_agent("n1")
        self.wait_for_nodes(1)
        self.check("::1")


if __name__ == "__main__":
    cluster.main()
