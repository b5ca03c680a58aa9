"""Nodes that leave on purpose: `accel drain`, and an agent that says goodbye (docs/decisions/0043)."""

import json
import time

from tests.e2e import cluster

# Says in which world it runs, saves its state when it gets SIGTERM, and runs until the file `go` exists.
WORKER = """
trap 'touch saved.$ACCEL_JOB_ID.$ACCEL_GENERATION.${RANK:-0}; exit 143' TERM
touch up.$ACCEL_JOB_ID.$ACCEL_GENERATION.${WORLD_SIZE:-1}.${RANK:-0}
until [ -e go ]; do sleep 0.02; done
"""


class Leaving(cluster.ClusterTest):
    AGENTS = 3

    def node(self, name):
        [node] = [node for node in json.loads(self.accel("nodes", "--json").out)["nodes"] if node["name"] == name]
        return node

    def start_job(self, *flags):
        return self.accel("submit", "--cpu", *flags, self.script(WORKER)).out.split()[0]

    def wait_for_world(self, job, generation, size):
        for rank in range(size):
            path = self.path(f"up.{job}.{generation}.{size}.{rank}")
            cluster.wait_until(path.exists, 60, f"rank {rank} of {size} in generation {generation} of {job} runs")

    def finish_jobs(self, *jobs):
        self.path("go").touch()
        for job in jobs:
            cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, f"job {job} ends well")

    def placed_on(self, job):
        return sorted(part["node_name"] for part in self.jobs(job)[0]["generations"][-1]["placements"])


class Drain(Leaving):
    def drain(self, *arguments):
        result = self.accel("drain", *arguments)
        self.assertEqual(result.code, 0, result)
        return result

    def test_a_drained_node_finishes_its_jobs_and_gets_no_others(self):
        job = self.start_job("--nodes", 3)
        self.wait_for_world(job, 1, 3)
        self.drain("n2")
        self.assertIn("draining", self.accel("nodes").out)
        # The request outlives the coordinator and the agent.
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.agents[1].kill()
        self.agents[1].wait()
        self.agents[1] = self.start_agent("n2")
        self.wait_for_nodes(3)
        self.finish_jobs(job)
        self.assertEqual(len(self.jobs(job)[0]["generations"]), 1)
        cluster.wait_until(lambda: " drained " in self.accel("nodes").out, 60, "it says that it is drained")
        waiting = self.accel("submit", "--cpu", "--nodes", 3, "/bin/true").out.split()[0]
        cluster.wait_until(lambda: "n2: drained by an operator" in self.jobs(waiting)[0].get("reason", ""), 60,
                           "it says what it waits for")
        self.assertIn("takes work again", self.drain("n2", "--undo").err)
        self.finish_jobs(waiting)

    def test_jobs_of_a_node_are_moved(self):
        elastic = self.start_job("--nodes", "2:3")
        # It may not fail even once.
        single = self.start_job("--max_restarts", 0)
        self.wait_for_world(elastic, 1, 3)
        self.wait_for_world(single, 1, 1)
        for job in (elastic, single):
            cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, f"job {job} runs")
        [node] = self.placed_on(single)
        self.drain(node, "--now")
        self.wait_for_world(elastic, 2, 2)
        self.wait_for_world(single, 2, 1)
        for rank in range(3):
            self.assertTrue(self.path(f"saved.{elastic}.1.{rank}").exists(), "each rank could save its state")
        self.assertTrue(self.path(f"saved.{single}.1.0").exists())
        for job in (elastic, single):
            self.assertNotIn(node, self.placed_on(job))
        self.finish_jobs(elastic, single)
        for job in (elastic, single):
            [status] = self.jobs(job)
            self.assertEqual((status.get("failures", 0), status.get("membership_changes", 0)), (0, 0), status)

    def test_a_node_that_does_not_exist(self):
        result = self.accel("drain", "n9")
        self.assertEqual(result.code, 1, result)
        self.assertIn("there is no node n9", result.err)


class Goodbye(Leaving):
    def start_agent(self, name, **options):
        return super().start_agent(name, flags=("--on_stop", "leave" if name == "n3" else "stay"), **options)

    def start_coordinator(self, *flags, **options):
        # Silence would be noticed only after the test.
        super().start_coordinator("--node_timeout", "300", *flags, **options)

    def test_a_node_that_says_goodbye_is_lost_at_once(self):
        job = self.start_job("--nodes", "2:3")
        self.wait_for_world(job, 1, 3)
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        began = time.monotonic()
        self.agents[2].terminate()
        self.wait_for_world(job, 2, 2)
        print(f"the survivors run {time.monotonic() - began:.3f} s after SIGTERM")
        self.assertEqual(self.agents[2].wait(timeout=60), 0)
        self.assertEqual(self.placed_on(job), ["n1", "n2"])
        self.assertIn("its agent was stopped", self.accel("status", job).out)
        self.finish_jobs(job)
        # The node comes back and takes work.
        self.agents[2] = self.start_agent("n3")
        self.wait_for_nodes(3)
        self.assertEqual(self.submit("--nodes", 3, "/bin/true").code, 0)

    def test_without_a_coordinator_jobs_continue(self):
        job = self.start_job("--nodes", 3)
        self.wait_for_world(job, 1, 3)
        self.coordinator.kill()
        self.coordinator.wait()
        self.agents[2].terminate()
        self.assertEqual(self.agents[2].wait(timeout=60), 0)
        self.agents[2] = self.start_agent("n3")
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.wait_for_nodes(3)
        self.finish_jobs(job)
        self.assertEqual(len(self.jobs(job)[0]["generations"]), 1)


if __name__ == "__main__":
    cluster.main()
