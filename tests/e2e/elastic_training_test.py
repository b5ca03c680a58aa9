"""An elastic job of a real training program loses a node in mid-epoch, and gets another one: no sample is lost or
repeated."""

import os
import pathlib
import signal

from tests.e2e import cluster

TRAINING = cluster.runfile("tests/e2e/elastic_training")


class ElasticTraining(cluster.ClusterTest):
    AGENTS = 3
    NODE_TIMEOUT = 8

    def start_coordinator(self):
        super().start_coordinator("--grow_after", "1")

    def batches(self, generation):
        """Returns the number of the last batch that a generation has trained on, or 0."""
        path = self.path(f"run/batches.{generation}")
        lines = path.read_text().split() if path.exists() else []
        return int(lines[-1]) if lines else 0

    def wait_for_batch(self, generation, batch):
        cluster.wait_until(lambda: self.batches(generation) >= batch, 120,
                           f"generation {generation} has trained on {batch} batches")

    def kill_node(self, number):
        """Kills the agent of a node and everything below it, as a host does that loses its power."""
        name = f"n{number}"
        self.agents[number - 1].kill()
        self.agents[number - 1].wait()
        for entry in pathlib.Path("/proc").iterdir():
            try:
                environment = (entry / "environ").read_text() if entry.name.isdigit() else ""
                mine = self.tag in environment and f"ACCEL_NODE={name}\0" in environment
                is_shim = not mine and entry.name.isdigit() and int(entry.name) in self.shims() and os.readlink(
                    entry / "fd/4").startswith(str(self.path(name)) + "/")
                if mine or is_shim:
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass  # It has ended, or belongs to another user.

    def sizes(self):
        return [len(generation["placements"]) for generation in self.jobs()[0]["generations"]]

    def test_each_sample_is_seen_once_on_three_two_and_three_nodes(self):
        self.path("run").mkdir()
        submit = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", "1:3", "--processes_per_node", 1, TRAINING,
                            self.path("run"))
        self.wait_for_batch(1, 25)
        self.kill_node(2)
        self.wait_for_batch(2, 45)
        self.path("run/slow").touch()
        self.agents[1] = self.start_agent("n4")
        self.wait_for_batch(3, 1)
        self.path("run/hurry").touch()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, f"{result}\n{self.log('coordinator')}")
        job = self.jobs()[0]
        output = self.accel("logs", "--rank", 0, job["job_id"]).out
        self.assertIn("every sample once in each epoch", output)
        self.assertIn("finite parameters", output)
        self.assertIn("generation 3 has 3 ranks and begins after batch", output)
        self.assertEqual(self.sizes(), [3, 2, 3], job)
        # Neither the loss of the node nor the growth is a failure of the program.
        self.assertEqual((job.get("failures", 0), job["membership_changes"]), (0, 2), job)
        # The job grew right after a checkpoint, so only the batches between that and SIGTERM were trained again. A
        # checkpoint is saved every 20 batches, which now take at least 8 s, so that a process that is slow to send or obey
        # SIGTERM does not look like growth at any time.
        begun = int(self.path("run/batches.3").read_text().split()[0]) - 1
        self.assertEqual(begun % 20, 0)
        self.assertLessEqual(self.batches(2) - begun, 15)


if __name__ == "__main__":
    cluster.main()
