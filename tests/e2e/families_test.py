"""Addresses of hosts that differ from the usual ones: IPv6 only, both families, two names of loopback, and several
interfaces. Jobs of one node and of several run their first collective with Gloo."""

import subprocess

from tests.e2e import cluster, hosts

FIRST_COLLECTIVE = cluster.runfile("bench/worker/first_collective")
# The hosts have network namespaces, so every port is free there.
PORT = 4000
# The route to the other host has the address of a second interface as its source, to which the other host has a route.
SECOND_INTERFACE = """set -e
ip link add eth1 type veth peer name eth2
ip addr add 10.78.0.{host}/32 dev eth1
ip link set eth1 up
ip route add 10.78.0.{other}/32 via 10.77.0.{other} dev eth0
ip route add 10.77.0.{other}/32 dev eth0 src 10.78.0.{host}
"""


class OnHosts(cluster.ClusterTest):
    """The coordinator and all commands run on host 1, and agent n1 on host 2, ..."""

    AGENTS = 2
    IPV4 = True

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(3, real=True, ipv4=self.IPV4)
        self.addCleanup(self.hosts.close)
        super().setUp()

    def start(self, *command, **options):
        inside = () if command[0] == "nsenter" else self.hosts.inside(1)
        return super().start(*inside, *command, **options)

    @staticmethod
    def host_of(name):
        return int(name[1:]) + 1

    def start_agent(self, name, under=(), **options):
        return super().start_agent(name, under=[*self.hosts.inside(self.host_of(name)), *under], **options)

    def addresses(self):
        return [line.split()[1] for line in self.accel("nodes").out.splitlines() if line.startswith("n")]

    def check_job(self, store, *arguments):
        """A job runs whose store has this address."""
        result = self.submit(*arguments, FIRST_COLLECTIVE)
        self.assertEqual(result.code, 0, result)
        [job] = self.jobs(result.out.split()[0])
        self.assertEqual(job["generations"][-1]["master_addr"], store)


class IPv6Only(OnHosts):
    IPV4 = False
    LISTEN = "[fd77::1]:0"

    def test_jobs(self):
        self.assertEqual(self.addresses(), ["fd77::2", "fd77::3"])
        self.check_job("127.0.0.1", "--processes_per_node", 2)
        self.check_job("fd77::2", "--nodes", 2, "--processes_per_node", 2)

    def test_a_launch(self):
        """The name of the machine that serves is 127.0.1.1 there, and an address of IPv6 elsewhere."""
        launch = (cluster.ACCEL, "launch", "--cpu", "--num_machines", 2, "--num_processes", 2, "--main_process_ip", "h1",
                  "--main_process_port", PORT, "/bin/sh", "-c", f"echo store at $MASTER_ADDR; exec {FIRST_COLLECTIVE}")
        processes = [self.start(*self.hosts.inside(host), *launch, env={"ACCEL_COORDINATOR": ""}) for host in (1, 2)]
        for result in [self.finish(process) for process in processes]:
            self.assertEqual(result.code, 0, result)
            self.assertIn("store at fd77::1", result.out)


class BothFamilies(OnHosts):
    """The name of the coordinator has an address of each family, and each agent uses another one."""

    LISTEN = f"both:{PORT}"
    COORDINATORS = {"n1": f"10.77.0.1:{PORT}", "n2": f"[fd77::1]:{PORT}"}

    def start_agent(self, name, **options):
        return super().start_agent(name, flags=("--coordinator", self.COORDINATORS[name]), **options)

    def test_jobs(self):
        self.assertEqual(self.addresses(), ["10.77.0.2", "fd77::3"])
        self.check_job("10.77.0.2", "--nodes", 2)


class BothFamiliesReversed(BothFamilies):
    COORDINATORS = {"n1": f"[fd77::1]:{PORT}", "n2": f"10.77.0.1:{PORT}"}

    def test_jobs(self):
        self.assertEqual(self.addresses(), ["fd77::2", "10.77.0.3"])
        self.check_job("fd77::2", "--nodes", 2)


class Localhost(OnHosts):
    """The agents are on the coordinator's host. The first address of the name localhost is ::1, where nothing listens."""

    LISTEN = f"127.0.0.1:{PORT}"

    @staticmethod
    def host_of(name):
        return 1

    def start_agent(self, name, **options):
        return super().start_agent(name, flags=("--coordinator", f"localhost:{PORT}"), **options)

    def test_jobs(self):
        self.assertEqual(self.run_command("getent", "ahosts", "localhost").out.split()[0], "::1")
        self.assertEqual(self.addresses(), ["::1", "::1"])
        self.check_job("127.0.0.1", "--processes_per_node", 2)
        self.check_job("::1", "--nodes", 2)


class SeveralInterfaces(OnHosts):
    """Each host reaches the other from an address that its agent does not advertise."""

    LISTEN = "10.77.0.1:0"

    def start_coordinator(self, *flags, **options):
        for host, other in ((2, 3), (3, 2)):
            script = SECOND_INTERFACE.format(host=host, other=other)
            subprocess.run([*self.hosts.inside(host), "sh", "-c", script], check=True)
        super().start_coordinator(*flags, **options)

    def test_jobs(self):
        route = self.run_command(*self.hosts.inside(3), "ip", "route", "get", "10.77.0.2")
        self.assertIn("src 10.78.0.3", route.out)
        self.assertEqual(self.addresses(), ["10.77.0.2", "10.77.0.3"])
        self.check_job("10.77.0.2", "--nodes", 2)


if __name__ == "__main__":
    cluster.main()
