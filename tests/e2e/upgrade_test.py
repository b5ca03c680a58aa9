"""Programs of different versions: an agent meets shims of another build, and a coordinator the store of an earlier one. No
job ends because of it."""

import pathlib
import sqlite3

from tests.e2e import cluster, shim_relay

# Each rank waits for a file, and ends with an exit code of its own.
WORKER = """
echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK
while [ ! -e end ]; do sleep 0.01; done
exit $((40 + RANK))
"""


class OtherShim(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.job = self.accel("submit", "--cpu", "--processes_per_node", 2, self.script(WORKER)).out.split()[0]
        self.workers = [int(self.wait_for_file(f"pid.{rank}")) for rank in range(2)]
        self.wait_for_phase("RUNNING")

    def status(self):
        [status] = self.jobs(self.job)
        return status

    def wait_for_phase(self, phase):
        cluster.wait_until(lambda: self.status()["phase"] == phase, 60, f"the job is {phase}")
        return self.status()

    def relay(self, rewrite):
        relay = shim_relay.ShimRelay(self.path(f"n1/shims/{self.job}"), self.dir, rewrite)
        self.addCleanup(relay.close)
        return relay

    def restart_agent(self, before):
        """Kills the agent and starts the next one. Returns what `before` returned, once the next has adopted the shim."""
        self.agents[0].kill()
        self.agents[0].wait()
        result = before()
        adopted = self.log("n1").count("adopted a shim")
        connected = self.log("n1").count("connected to the coordinator")
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: self.log("n1").count("adopted a shim") > adopted, 60, "the shim is adopted")
        cluster.wait_until(lambda: self.log("n1").count("connected to the coordinator") > connected, 60, "it reports")
        return result

    def check_undisturbed(self):
        status = self.status()
        self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1), status)
        self.assertEqual([cluster.is_alive(pid) for pid in self.workers], [True, True])

    def check_exact_end(self):
        self.path("end").touch()
        status = self.wait_for_phase("FAILED")
        self.assertIn(status["exit_code"], (40, 41))
        self.assertEqual(status["cause"]["exit"]["kind"], "EXITED")
        self.assertEqual(len(status["generations"]), 1)
        cluster.wait_until(lambda: not list(self.path("n1/shims").iterdir()), 60, "no record is left")

    def test_a_shim_of_another_version_is_left_alone_and_the_next_agent_understands_it(self):
        relay = self.restart_agent(lambda: self.relay(shim_relay.of_version_4))
        self.assertIn("a shim is not understood", self.log("n1"))
        self.assertIn("has version 4 of the shim protocol", self.log("n1"))
        self.check_undisturbed()
        # The node takes other jobs.
        self.assertEqual(self.submit("/bin/true").code, 0)
        self.check_undisturbed()
        self.restart_agent(relay.restore)
        self.check_undisturbed()
        self.check_exact_end()

    def test_a_shim_of_another_version_can_be_cancelled(self):
        self.restart_agent(lambda: self.relay(shim_relay.of_version_4))
        self.assertEqual(self.accel("cancel", self.job).code, 0)
        self.wait_for_phase("CANCELLED")
        self.assertEqual([cluster.is_alive(pid) for pid in self.workers], [False, False])

    def test_a_shim_of_a_later_build_is_understood(self):
        self.restart_agent(lambda: self.relay(shim_relay.of_a_later_build))
        self.assertNotIn("not understood", self.log("n1"))
        self.check_undisturbed()
        self.check_exact_end()


class OldStore(cluster.ClusterTest):
    AGENTS = 0
    PHASES = {"a0x1k9fq": "RUNNING", "a0x2m4cd": "PENDING", "a0x3b7he": "STOPPING", "a0x4q1tz": "SUCCEEDED"}

    def start_coordinator(self, *flags, **options):
        folder = self.path("coordinator")
        if not folder.exists():
            folder.mkdir(mode=0o700)
            dump = cluster.runfile("coordinator/store/testdata/schema_1.sql")
            self.execute(pathlib.Path(dump).read_text())
        # The nodes of the store are not there, and count as lost after this time.
        super().start_coordinator("--node_timeout", 600, *flags, **options)

    def execute(self, sql):
        database = sqlite3.connect(self.path("coordinator/cluster.db"))
        database.executescript(sql)
        database.close()

    def check_jobs_and_nodes(self):
        self.assertEqual({job["job_id"]: job["phase"] for job in self.jobs()}, self.PHASES)
        nodes = self.accel("nodes", "--json").out
        for name in ("n1", "n2", "n3"):
            self.assertIn(f'"name": "{name}"', nodes)
        self.assertEqual(nodes.count("FINISH_JOBS"), 1)
        status = self.accel("status", "a0x1k9fq")
        self.assertIn("ran out of memory and was killed by SIGKILL (9)", status.out)

    def test_a_store_of_the_first_version_is_taken_over(self):
        self.check_jobs_and_nodes()
        # What was stored at the start is of this version, and the next coordinator finds the same.
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator()
        self.check_jobs_and_nodes()

    def test_a_store_of_a_later_version_is_refused(self):
        self.coordinator.terminate()
        self.coordinator.wait()
        self.execute("PRAGMA user_version = 2")
        for flags in ((), ("--check",)):
            refused = self.run_command(cluster.COORDINATOR, "--socket", self.socket, "--state_dir",
                                       self.path("coordinator"), *flags)
            self.assertEqual(refused.code, 1, refused)
            self.assertIn("has version 2 of the table, and this accel-coordinator knows versions up to 1; start a later one",
                          refused.err)
        # The version that wrote it finds what it has written.
        self.execute("PRAGMA user_version = 1")
        self.start_coordinator()
        self.check_jobs_and_nodes()


if __name__ == "__main__":
    cluster.main()
