"""A node that cannot start anything: no job fails because of it, and the operator sees why it gets no work."""

import json
import pathlib
import shutil

from tests.e2e import cluster


class BrokenNode(cluster.ClusterTest):
    AGENTS = 0

    def node(self, name):
        return next(node for node in json.loads(self.accel("nodes", "--json").out)["nodes"] if node["name"] == name)

    def submit_well(self):
        result = self.submit("/bin/true")
        self.assertEqual(result.code, 0, result)

    def test_a_node_whose_shim_is_gone(self):
        shim = self.path("shim-of-n1")
        shutil.copy(cluster.SHIM, shim)
        # This node is the first by name. It is idle again immediately, so every job would be placed on it.
        self.start_agent("n1", env={"ACCEL_SHIM": str(shim)})
        self.start_agent("n2")
        self.wait_for_nodes(2)
        gone = pathlib.Path(f"{shim}.gone")
        shim.rename(gone)
        self.submit_well()
        self.submit_well()

        def refuses():
            # After 10 s it is tried again. So it is looked at after each job until it has been seen, whatever time that takes.
            self.submit_well()
            reason = self.node("n1")["refuses_work"]
            return reason if reason and "takes no new work" in self.accel("nodes").out else None

        reason = cluster.wait_until(refuses, 120, "the node is not used")
        self.assertRegex(reason, r"its last \d+ starts failed, the newest, of job .*, because: .*shim")
        self.submit_well()
        self.assertTrue(all(job.get("failures", 0) == 0 for job in self.jobs()))
        # Once repaired, the node is tried again after a while, and then used as before.
        gone.rename(shim)
        cluster.wait_until(lambda: not self.node("n1")["refuses_work"], 120, "it is tried again")
        self.assertEqual(self.submit("--nodes", 2, "/bin/true").code, 0)

    def test_a_program_that_exists_nowhere_fails_as_usual(self):
        self.start_agent("n1")
        self.start_agent("n2")
        self.wait_for_nodes(2)
        for _ in range(4):
            result = self.submit("--max_restarts", 0, "no-such-program")
            self.assertEqual(result.code, 127, result)
        self.assertEqual(self.node("n1")["refuses_work"], "")


if __name__ == "__main__":
    cluster.main()
