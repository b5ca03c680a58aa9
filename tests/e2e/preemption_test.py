"""A node is taken away with a warning: its agent gets SIGTERM, and so do the workers of the jobs that end with their agent.
They save their state within the grace, and the job continues from it on another node."""

from tests.e2e import cluster

WORKER = """
count=$(cat saved 2>/dev/null || echo 0)
trap 'echo $count > saved.new; mv saved.new saved; exit 0' TERM
echo $count > new; mv new began.$ACCEL_GENERATION
until [ -e end ]; do count=$((count + 1)); echo $count > new; mv new count; sleep 0.02; done
echo $count > last
"""


class Preemption(cluster.ClusterTest):
    AGENTS = 2
    NODE_TIMEOUT = 300  # Silence would be noticed only after the test.

    def test_a_job_saves_its_state_and_continues_on_another_node(self):
        job = self.accel("submit", "--cpu", "--max_restarts", 1, "--on_agent_loss", "end", self.script(WORKER)).out.split()[0]
        cluster.wait_until(lambda: self.wait_for_file("count").strip() not in ("", "0"), 60, "some progress")
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        node = self.node_of(job)
        agent = self.agents[int(node[1:]) - 1]
        agent.terminate()
        self.assertEqual(agent.wait(timeout=60), 0)
        saved = int(self.wait_for_file("saved"))
        self.assertGreater(saved, 0)
        self.assertEqual(int(self.wait_for_file("began.2")), saved)
        self.assertNotEqual(self.node_of(job), node)
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job succeeds")
        self.assertGreaterEqual(int(self.wait_for_file("last")), saved)
        [status] = self.jobs(job)
        self.assertEqual((len(status["generations"]), status.get("failures", 0)), (2, 0), status)
        self.assertEqual(status["generations"][0]["cause"]["exit"]["kind"], "PREEMPTED", status)
        self.assertEqual(self.leftovers(variable=f"ACCEL_JOB_ID={job}"), [])

    def node_of(self, job):
        return self.jobs(job)[0]["generations"][-1]["placements"][0]["node_name"]


if __name__ == "__main__":
    cluster.main()
