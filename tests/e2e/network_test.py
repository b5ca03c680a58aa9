"""Networks that fail between hosts: silence in both directions or in one, links that flap, slow and lossy links, and ends
that vanish without a word. The hosts are network namespaces (tests/e2e/hosts.py)."""

import os
import random
import signal
import socket
import sys
import time

from tests.e2e import cluster, on_hosts, processes

WORKER = """
me=$ACCEL_JOB_ID.$ACCEL_GENERATION.${RANK:-0}
echo $$ > new.$me; mv new.$me pid.$me
until [ -e end ]; do sleep 0.05; done
"""
# Prints the seconds that a connection to HOST PORT takes: one round trip.
CONNECT = "import socket, sys, time; t = time.monotonic(); socket.create_connection(sys.argv[1:3], 10); print(time.monotonic() - t)"


class NetworkTest(on_hosts.OnHosts):
    NODE_TIMEOUT = 8

    def start_job(self, *flags):
        """Returns the id of a job that runs until the file `end` exists, the pid of its rank 0, and the name of its node."""
        job = self.accel("submit", "--cpu", "--max_restarts", 3, *flags, self.script(WORKER)).out.split()[0]
        pid = self.wait_for_rank(job, 1)
        cluster.wait_until(lambda: self.status(job)["phase"] == "RUNNING", 60, "RUNNING")
        return job, pid, self.node_of(job)

    def wait_for_rank(self, job, generation):
        return int(self.wait_for_file(f"pid.{job}.{generation}.0"))

    def status(self, job):
        [status] = self.jobs(job)
        return status

    def node_of(self, job):
        return self.status(job)["generations"][-1]["placements"][0]["node_name"]

    def end_jobs_well(self, generations):
        """Lets all jobs end. Each must have had this many generations, and leave nothing on any node."""
        self.path("end").touch()
        cluster.wait_until(lambda: all(job["phase"] == "SUCCEEDED" for job in self.jobs()), 60, "all jobs succeed")
        self.assertEqual({len(job["generations"]) for job in self.jobs()}, {generations}, self.jobs())
        for name in (f"n{i + 1}" for i in range(self.AGENTS)):
            cluster.wait_until(lambda: not list(self.path(name).glob("shims/*")), 60, f"{name} has no shim's record left")

    def round_trip(self, host):
        address, _, port = self.env["ACCEL_COORDINATOR"].rpartition(":")
        return float(self.run_command(*self.hosts.inside(host), sys.executable, "-c", CONNECT, address, port).out)

    @staticmethod
    def let_pass(seconds):
        begin = time.monotonic()
        cluster.wait_until(lambda: time.monotonic() > begin + seconds, seconds + 60, "")


class Partition(NetworkTest):
    """A node that is cut off is lost after its timeout, at both ends, and converges as soon as the network is healed."""

    AGENTS = 3

    def check(self, *cut):
        """`cut` has the arguments of Hosts.cut(), where None is the host of the job's first rank."""
        job, old, node = self.start_job("--nodes", 2)
        self.hosts.cut(*(host or self.host_of(node) for host in cut))
        begin = time.monotonic()
        self.wait_for_rank(job, 2)
        # A node that may reconnect after an absence of the coordinator has 15 s more.
        seconds = time.monotonic() - begin
        self.assertTrue(self.NODE_TIMEOUT / 2 < seconds < self.NODE_TIMEOUT + 14, f"replaced after {seconds:.1f} s")
        self.assertNotEqual(self.node_of(job), node)
        self.assertIn(f"node {node} was lost: it has been silent for {self.NODE_TIMEOUT}s", self.accel("status", job).out)
        if cut != (None, 1):
            # The process of the lost part continues, because its job did not ask for a fence and nobody can end it. A node
            # that still hears the coordinator may have been told.
            self.assertTrue(cluster.is_alive(old))
        cluster.wait_until(lambda: "coordinator unreachable" in self.log(node), 60, "the agent notices it too")
        self.hosts.heal()
        self.wait_for_nodes(3)
        cluster.wait_until(lambda: not cluster.is_alive(old), 60, "the process of the lost part ends")
        self.end_jobs_well(generations=2)

    def test_both_directions(self):
        self.check(None)

    def test_nothing_reaches_the_coordinator(self):
        self.check(None, 1)

    def test_nothing_reaches_the_node(self):
        self.check(1, None)


class PartitionOfAJobOfOneNode(NetworkTest):
    """A job of one node is never started again while its processes may still run on a node that is cut off."""

    def cut_off(self, *flags):
        """Starts a job, cuts its node off in both directions, and returns when the job says that it waits."""
        job, pid, node = self.start_job(*flags)
        self.hosts.cut(self.host_of(node))
        cluster.wait_until(lambda: f"Node {node} is silent. The job waits for it" in self.status(job)["reason"], 60,
                           "the job says that it waits for its node")
        return job, pid, node

    def test_it_goes_on_when_the_network_is_healed(self):
        job, pid, node = self.cut_off()
        cluster.wait_until(lambda: "coordinator unreachable" in self.log(node), 60, "the agent has lost its stream")
        self.assertTrue(cluster.is_alive(pid))
        self.hosts.heal()
        cluster.wait_until(lambda: self.status(job)["reason"] == f"1 process on node {node}.", 60, "the reason is as before")
        self.assertTrue(cluster.is_alive(pid))
        self.end_jobs_well(generations=1)

    def test_a_fence_ends_the_wait(self):
        job, old, node = self.cut_off("--stop_on_disconnect_after", "5s")
        cluster.wait_until(lambda: not cluster.is_alive(old), 60, "the shim stops the process")
        self.assertEqual(len(self.status(job)["generations"]), 1)
        self.wait_for_rank(job, 2)
        self.assertNotEqual(self.node_of(job), node)
        self.hosts.heal()
        self.wait_for_nodes(2)
        self.end_jobs_well(generations=2)

    def test_an_operator_gives_the_node_up(self):
        job, old, node = self.cut_off()
        self.assertEqual(self.accel("drain", "--now", node).code, 0)
        self.wait_for_rank(job, 2)
        self.assertNotEqual(self.node_of(job), node)
        self.assertIn(f"node {node} was lost: it is silent, and an operator has given it up", self.accel("status", job).out)
        self.hosts.heal()
        cluster.wait_until(lambda: not cluster.is_alive(old), 60, "the process of the lost part ends")
        self.end_jobs_well(generations=2)


class Links(NetworkTest):
    def flap(self, node, times, down, up):
        """Cuts and heals a node's link this often."""
        dice = random.Random(35)
        for _ in range(times):
            self.hosts.cut(self.host_of(node))
            self.let_pass(dice.uniform(*down))
            self.hosts.heal()
            self.let_pass(dice.uniform(*up))

    def test_short_breaks_cost_nothing(self):
        job, pid, node = self.start_job()
        self.flap(node, 8, down=(0.2, 1), up=(0.2, 1))
        self.assertTrue(cluster.is_alive(pid))
        self.end_jobs_well(generations=1)

    def test_long_breaks_cost_a_job_of_one_node_nothing(self):
        job, pid, node = self.start_job()
        self.flap(node, 2, down=(self.NODE_TIMEOUT + 1, self.NODE_TIMEOUT + 3), up=(0.2, 2))
        self.wait_for_nodes(2)
        self.assertTrue(cluster.is_alive(pid))
        self.end_jobs_well(generations=1)

    def test_a_slow_and_lossy_link_loses_no_node(self):
        cluster.wait_until(lambda: self.round_trip(2) < 0.1, 60, "a quick round trip")
        self.hosts.link(delay=0.1, loss=0.02, rate=1e6)
        self.assertGreater(self.round_trip(2), 0.2)
        begin = time.monotonic()
        for _ in range(3):
            self.start_job("--nodes", 2)
        self.let_pass(begin + 12 - time.monotonic())
        self.end_jobs_well(generations=1)


class Strangers(NetworkTest):
    """A host that runs no part of a job cannot use its store, and `accel status` says that one has tried."""

    def test_a_refused_connection_is_counted(self):
        fails = self.script("until [ -e end ]; do sleep 0.05; done; exit 3")
        job = self.accel("submit", "--cpu", "--nodes", 2, fails).out.split()[0]
        cluster.wait_until(lambda: self.status(job)["phase"] == "RUNNING", 60, "RUNNING")
        generation = self.status(job)["generations"][-1]
        connect = ("import socket, sys; s = socket.create_connection(sys.argv[1:3], 10); s.settimeout(60); "
                   "print(len(s.recv(1)))")
        tried = self.run_command(*self.hosts.inside(1), sys.executable, "-c", connect, generation["master_addr"],
                                 generation["master_port"])
        self.assertEqual(tried.out, "0\n", tried)  # The store has closed the connection.
        self.path("end").touch()
        cluster.wait_until(lambda: self.status(job)["phase"] == "FAILED", 60, "FAILED")
        self.assertIn("its store refused 1 connection of hosts or users that have no part in the job",
                      self.accel("status", job, "--long").out)


class HalfOpen(NetworkTest):
    """One end of each connection is gone, and its peer has received neither a FIN nor a reset."""

    def connections(self, node):
        """Returns the number of connections with a node's host whose sockets a process here has."""
        peer = socket.inet_aton(self.hosts.address(self.host_of(node)))[::-1].hex().upper()
        return sum(fields[2].partition(":")[0].endswith(peer) and fields[9] != "0"
                   for fields in processes.tcp_sockets(self.coordinator.pid))

    def test_a_host_that_vanishes_leaves_no_connection(self):
        job, old, node = self.start_job()
        which = int(node[1:]) - 1
        self.assertGreater(self.connections(node), 0)
        self.hosts.cut(self.host_of(node))
        for pid in (self.agents[which].pid, cluster.parent_of(old), old):
            os.kill(pid, signal.SIGKILL)
        self.agents[which].wait()
        self.assertGreater(self.connections(node), 0, "the connection is half-open")
        # Only an operator knows that the host is gone and not cut off. The coordinator does not take his word for it while
        # it still counts the node as connected.
        give_up = f"accel drain --now {node}"
        self.assertEqual(self.accel(*give_up.split()[1:]).code, 0)
        cluster.wait_until(lambda: f"If the node is dead, `{give_up}`" in self.status(job)["reason"], 60, "it is silent")
        self.assertEqual(self.accel(*give_up.split()[1:]).code, 0)
        self.wait_for_rank(job, 2)
        cluster.wait_until(lambda: self.connections(node) == 0, 60, "the coordinator closes the connection")
        self.hosts.heal()
        self.agents[which] = self.start_agent(node)
        self.wait_for_nodes(2)
        self.end_jobs_well(generations=2)

    def test_a_coordinator_that_vanishes_is_found_again(self):
        self.start_job("--nodes", 2)
        self.hosts.cut(1)
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.hosts.heal()
        self.wait_for_nodes(2)
        self.end_jobs_well(generations=1)


if __name__ == "__main__":
    cluster.main()
