"""The sockets of all processes, in every state. A coordinator listens on its Unix socket, and on TCP if it was asked
to. An agent and a launch have their spare sockets for stores. An agent's shim has a Unix socket, and any shim has the
store of its job if this has several processes. Nothing else can be reached."""

import os
import signal
import socket
import unittest

from tests.e2e import cluster, descriptors

# The agent's flag --store_sockets.
SPARES = ["tcp 127.0.0.1"] * 4
# A shim binds its socket through a descriptor of its folder, because the path may be too long.
SHIM = "unix /proc/self/fd/N/sock"
STORE = "tcp 127.0.0.1"
STAY = "echo $$ > new.${RANK:-0}; mv new.${RANK:-0} pid.${RANK:-0}; exec sleep 600"
GLOO = """
import os, pathlib, signal
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
pathlib.Path("new.%(RANK)s" % os.environ).write_text(str(os.getpid()))
os.rename("new.%(RANK)s" % os.environ, "pid.%(RANK)s" % os.environ)
signal.pause()
"""


def address_of(text):
    """Returns the address of /proc/net/tcp* in the usual notation, without its port."""
    words = bytes.fromhex(text.partition(":")[0])
    swapped = b"".join(words[i:i + 4][::-1] for i in range(0, len(words), 4))
    return socket.inet_ntop(socket.AF_INET if len(swapped) == 4 else socket.AF_INET6, swapped)


def reachable(pid):
    """Returns the sockets of a process that others can send to first, with their addresses, sorted. A UDP or raw socket
    needs no listen() for that, and nor does a bound Unix socket of datagrams."""
    inodes = descriptors.socket_inodes(pid)
    found = []
    for kind in ("tcp", "tcp6"):
        listeners = [fields for fields in descriptors.table(pid, kind) if fields[3] == "0A"]
        found += [f"tcp {address_of(fields[1])}" for fields in listeners if fields[9] in inodes]
    for kind in ("udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6"):
        found += [f"{kind} {address_of(fields[1])}" for fields in descriptors.table(pid, kind) if fields[9] in inodes]
    for fields in descriptors.table(pid, "unix"):
        listens, is_stream = int(fields[3], 16) & 0x10000, fields[4] == "0001"
        if fields[6] in inodes and (listens or (len(fields) > 7 and not is_stream)):
            found.append(" ".join(["unix", *fields[7:]]))
    return sorted(found)


class Processes:
    """What the tests below share: the processes that they have started."""

    def found(self):
        """Returns the reachable sockets of each process of this test."""
        if os.geteuid() != 0:
            self.skipTest("only root sees what a daemon has open")
        result = {}
        for pid in {*self.leftovers(seconds=0), *self.shims()}:
            try:
                result[pid] = [name if not name.endswith("/sock") else SHIM for name in reachable(pid)]
            except OSError:  # It has just ended.
                pass
        return result

    def check(self, expected):
        """All processes have these sockets. An agent may need a moment to replace the socket that a job took."""
        last = {}

        def are_as_expected():
            last.update(now=self.found())
            return last["now"] == expected

        try:
            cluster.wait_until(are_as_expected, 30, "the expected sockets")
        except AssertionError:
            self.assertEqual(last["now"], expected)

    def pids(self, count):
        pids = [int(self.wait_for_file(f"pid.{rank}")) for rank in range(count)]
        for rank in range(count):
            self.path(f"pid.{rank}").unlink()
        return pids


class Cluster(Processes, cluster.ClusterTest):
    OVER_TCP = []  # What the coordinator has in addition to its Unix socket.

    def daemons(self):
        return {self.coordinator.pid: sorted([*self.OVER_TCP, f"unix {self.socket}"]), self.agents[0].pid: SPARES}

    def check_job(self, *arguments, ranks, shim, worker=()):
        job = self.accel("submit", "--cpu", "--processes_per_node", ranks, *arguments).out.split()[0]
        follower = self.start(cluster.ACCEL, "logs", "--follow", job)
        pids = self.pids(ranks)
        workers = {pid: [*worker] for pid in pids}
        self.check({**self.daemons(), cluster.parent_of(pids[0]): shim, follower.pid: [], **workers})
        self.assertEqual(self.accel("cancel", "--now", job).code, 0)
        self.finish(follower)
        self.check(self.daemons())

    def check_states(self):
        self.check(self.daemons())
        stay = self.script(STAY)
        self.check_job(stay, ranks=1, shim=[SHIM])
        self.check_job(stay, ranks=2, shim=[STORE, SHIM])


class OverTheUnixSocket(Cluster):
    def test_of_a_cluster(self):
        self.check_states()

    def test_of_a_job_of_gloo(self):
        """Each rank listens for the others. A job of one node does so on loopback."""
        self.check_job("--python", cluster.PYTHON, self.python(GLOO), ranks=2, shim=[STORE, SHIM], worker=["tcp 127.0.0.1"])


class OverTcp(Cluster):
    LISTEN = "127.0.0.1:0"
    OVER_TCP = ["tcp 127.0.0.1"]

    def test_of_a_cluster(self):
        self.check_states()


class Launch(Processes, cluster.Test):
    def test_of_a_launch(self):
        """Its coordinator and its agent are parts of the command, and meet in memory."""
        launch = self.start(cluster.ACCEL, "launch", "--cpu", "--num_processes", 2, self.script(STAY))
        pids = self.pids(2)
        self.check({launch.pid: ["tcp 127.0.0.1"], cluster.parent_of(pids[0]): [STORE], **{pid: [] for pid in pids}})
        launch.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(launch).code, 128 + signal.SIGINT)


class TheSearch(unittest.TestCase):
    def test_finds_what_there_is(self):
        here = reachable(os.getpid())
        for family, kind, address, name in (
                (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0), "udp 127.0.0.1"),
                (socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0), "udp6 ::1"),
                (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0), "tcp ::1"),
                (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0), "tcp 0.0.0.0"),
                (socket.AF_UNIX, socket.SOCK_STREAM, f"\0accel.{os.getpid()}", f"unix @accel.{os.getpid()}"),
                (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0accel.{os.getpid()}", f"unix @accel.{os.getpid()}")):
            with self.subTest(name), socket.socket(family, kind) as one:
                one.bind(address)
                if kind == socket.SOCK_STREAM:
                    self.assertEqual(reachable(os.getpid()), here)
                    one.listen()
                self.assertEqual(reachable(os.getpid()), sorted([*here, name]))


if __name__ == "__main__":
    cluster.main()
