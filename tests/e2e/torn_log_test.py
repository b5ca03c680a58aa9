"""A crash of the machine cuts the coordinator's log in its last commit: a new coordinator has exactly the state before this
commit, and a job that runs is undisturbed."""

import os

from tests.e2e import cluster


class TornLog(cluster.ClusterTest):
    def log_size(self):
        return self.path("coordinator/cluster.db-wal").stat().st_size

    def drains(self):
        """Commits that n1 takes no work, and then that it takes some. Returns the size of the second commit."""
        self.assertEqual(self.accel("drain", "n1").code, 0)
        before = self.log_size()
        self.assertEqual(self.accel("drain", "n1", "--undo").code, 0)
        return self.log_size() - before

    def restart_on_a_log_without(self, bytes_of):
        """Kills the coordinator, cuts off the end of its log, and starts another one. `bytes_of` gets the size of the last
        commit and returns how much is cut off."""
        commit = self.drains()
        # A log that is used again from its start does not grow.
        self.assertGreater(commit, 0)
        self.coordinator.kill()
        self.coordinator.wait()
        os.truncate(self.path("coordinator/cluster.db-wal"), self.log_size() - bytes_of(commit))
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.wait_for_nodes(1)

    def test_only_the_commit_that_was_cut_is_missing(self):
        script = self.script("echo $$ >> pid; until [ -e end ]; do sleep 0.05; done")
        job = self.accel("submit", "--cpu", script).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        cuts = {"nothing": lambda size: 0, "a byte": lambda size: 1, "half": lambda size: size // 2,
                "all but a byte": lambda size: size - 1, "all": lambda size: size}
        for name, bytes_of in cuts.items():
            with self.subTest(name):
                self.restart_on_a_log_without(bytes_of)
                self.assertEqual("draining" in self.accel("nodes").out, name != "nothing")
                self.assertTrue(cluster.is_alive(worker))
                [status] = self.jobs(job)
                self.assertEqual((status["phase"], len(status["generations"])), ("RUNNING", 1), status)
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job ends well")
        self.assertEqual(self.path("pid").read_text().split(), [str(worker)])


if __name__ == "__main__":
    cluster.main()
