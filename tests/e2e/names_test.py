"""A coordinator that agents reach by name: names that cannot be resolved for a while, and a name that gets another address."""

from tests.e2e import cluster, hosts

WORKER = "echo $$ > new; mv new pid; until [ -e end ]; do sleep 0.05; done"
# Each agent sees its own /etc/hosts, and no name server.
AS_ON_A_HOST = "mount --bind {0} /etc/hosts && mount --bind {1} /etc/resolv.conf && exec \"$@\""


class Names(cluster.ClusterTest):
    AGENTS = 0

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(3)
        self.addCleanup(self.hosts.close)
        super().setUp()
        self.path("resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")

    def start(self, *command, **options):
        inside = () if command[0] == "nsenter" else self.hosts.inside(self.host)
        return super().start(*inside, *command, **options)

    def start_coordinator(self, host=1, port=0):
        self.host = host  # All commands run there too.
        self.place = self.hosts.address(host)
        super().start_coordinator(listen=f"{self.place}:{port}")
        self.port = self.env["ACCEL_COORDINATOR"].rpartition(":")[2]

    def name(self, address):
        """Gives the coordinator's name an address, or none."""
        self.path("hosts").write_text(f"{address} localhost\n" if address else "192.0.2.1 elsewhere\n")

    def start_agent(self, name):
        script = AS_ON_A_HOST.format(self.path("hosts"), self.path("resolv.conf"))
        under = [*self.hosts.inside(2), "unshare", "--mount", "sh", "-c", script, "sh"]
        return super().start_agent(name, under=under, flags=("--coordinator", f"localhost:{self.port}"))

    def kill_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()

    def start_job(self):
        job = self.accel("submit", "--cpu", self.script(WORKER)).out.split()[0]
        pid = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        return job, pid

    def end_well(self, job, pid):
        self.assertTrue(cluster.is_alive(pid))
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job succeeds")
        self.assertEqual(len(self.jobs(job)[0]["generations"]), 1)

    def test_a_name_that_cannot_be_resolved_yet(self):
        self.name(None)
        self.agents = [self.start_agent("n1")]
        cluster.wait_until(lambda: "resolve" in self.log("n1"), 60, "the agent has tried")
        self.name(self.place)
        self.wait_for_nodes(1)
        self.assertIsNone(self.agents[0].poll())

    def test_names_fail_while_the_coordinator_restarts(self):
        self.name(self.place)
        self.agents = [self.start_agent("n1")]
        self.wait_for_nodes(1)
        job, pid = self.start_job()
        self.name(None)
        self.kill_coordinator()
        self.start_coordinator(port=self.port)
        cluster.wait_until(lambda: "coordinator unreachable" in self.log("n1"), 60, "the agent has lost it")
        self.name(self.place)
        self.wait_for_nodes(1)
        self.end_well(job, pid)

    def test_the_coordinator_moves_to_another_address(self):
        self.name(self.place)
        self.agents = [self.start_agent("n1")]
        self.wait_for_nodes(1)
        job, pid = self.start_job()
        self.kill_coordinator()
        self.start_coordinator(host=3, port=self.port)
        self.name(self.place)
        self.wait_for_nodes(1)
        self.end_well(job, pid)


if __name__ == "__main__":
    cluster.main()
