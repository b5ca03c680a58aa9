"""A coordinator with an empty store, or another cluster's, ends no job that agents run (docs/decisions/0042)."""

import json
import shutil
import signal

from tests.e2e import cluster


class Identity(cluster.ClusterTest):
    def nodes(self):
        return json.loads(self.accel("nodes", "--json").out).get("nodes", [])

    def start_job(self):
        job = self.accel("submit", "--cpu", self.script("echo $$ > pid; until [ -e go ]; do sleep 0.02; done")).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        return job, worker

    def stop_coordinator(self, how=signal.SIGKILL):
        self.coordinator.send_signal(how)
        self.coordinator.wait(timeout=60)

    def start_coordinator_again(self):
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.wait_for_nodes(1)

    def wait_for_refusal(self):
        cluster.wait_until(lambda: "belongs to cluster" in self.nodes()[0].get("refuses_work", ""), 60, "the node says why")

    def test_jobs_continue_until_the_right_store_is_back(self):
        job, worker = self.start_job()
        self.stop_coordinator()
        self.path("coordinator").rename(self.path("right"))
        self.start_coordinator_again()
        self.wait_for_refusal()
        waiting = self.accel("submit", "--cpu", "/bin/true").out.split()[0]
        cluster.wait_until(lambda: "belongs to cluster" in self.jobs(waiting)[0].get("reason", ""), 60, "a new job waits")
        # The next agent knows its cluster too.
        self.agents[0].kill()
        self.agents[0].wait()
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: self.log("n1").count("obeys no coordinator of another cluster") == 2, 60, "it refuses again")
        self.wait_for_refusal()
        self.assertTrue(cluster.is_alive(worker))
        self.assertEqual(self.jobs(waiting)[0]["phase"], "PENDING")
        self.stop_coordinator(signal.SIGTERM)
        shutil.rmtree(self.path("coordinator"))
        self.path("right").rename(self.path("coordinator"))
        self.start_coordinator_again()
        cluster.wait_until(lambda: not self.nodes()[0].get("refuses_work"), 60, "the node takes work again")
        self.assertTrue(cluster.is_alive(worker))
        self.path("go").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job ends well")
        self.assertEqual(len(self.jobs(job)[0]["generations"]), 1)

    def test_a_node_without_jobs_joins_another_cluster(self):
        self.assertEqual(self.submit("/bin/true").code, 0)
        self.stop_coordinator()
        shutil.rmtree(self.path("coordinator"))
        self.start_coordinator_again()
        self.assertEqual(self.submit("/bin/true").code, 0)

    def test_an_operator_lets_a_node_leave_its_cluster(self):
        _, worker = self.start_job()
        in_use = self.run_command(cluster.AGENT, "--state_dir", self.path("n1"), "--forget_cluster")
        self.assertEqual(in_use.code, 1, in_use)
        self.assertIn(f"in use by process {self.agents[0].pid}", in_use.err)
        self.stop_coordinator()
        shutil.rmtree(self.path("coordinator"))
        self.start_coordinator_again()
        self.wait_for_refusal()
        self.agents[0].terminate()
        self.assertEqual(self.agents[0].wait(timeout=60), 0)
        self.assertTrue(cluster.is_alive(worker))
        forgotten = self.run_command(cluster.AGENT, "--state_dir", self.path("n1"), "--forget_cluster")
        self.assertEqual(forgotten.code, 0, forgotten)
        self.assertIn("no longer belongs to cluster", forgotten.out)
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: not cluster.is_alive(worker), 60, "its job ends")
        self.assertEqual(self.submit("/bin/true").code, 0)


if __name__ == "__main__":
    cluster.main()
