"""Jobs that fail again and again: the pauses grow, the budget ends them, each failure is kept, the first too, and a node
that is blamed each time is left out."""

import json

from tests.e2e import cluster

RESTARTS = 3
# Each generation fails in its own way. Otherwise the job might end early, because its failures look the same.
WORKER = 'echo "failure $ACCEL_GENERATION" >&2; exit $((10 + ACCEL_GENERATION))'


class CrashLoop(cluster.ClusterTest):
    def test_the_pauses_grow_until_the_budget_is_spent(self):
        result = self.submit("--max_restarts", RESTARTS, self.script(WORKER))
        self.assertEqual(result.code, 11 + RESTARTS, result)
        self.assertIn("it began with another failure: rank 0 on node n1 exited with code 11 (generation 1)", result.err)
        [job] = self.jobs(result.out.split()[0])
        self.assertEqual((job["phase"], job["failures"]), ("FAILED", 1 + RESTARTS), job)
        generations = job["generations"]
        self.assertEqual(len(generations), 1 + RESTARTS)
        causes = [(each["cause"]["generation"], each["cause"]["exit"]["code"], each["cause"]["last_lines"])
                  for each in generations]
        self.assertEqual(causes, [(number, 10 + number, [f"failure {number}"]) for number in range(1, 2 + RESTARTS)])
        # The times are those of the coordinator's clock, which starts each generation and learns of its end.
        pauses = [(int(later["started_unix_ms"]) - int(earlier["ended_unix_ms"])) / 1000
                  for earlier, later in zip(generations, generations[1:])]
        # None, 1 s, 2 s, and up to a quarter more. A loaded machine may add some seconds.
        for pause, least in zip(pauses, (0, 1, 2)):
            self.assertTrue(least <= pause < least * 1.25 + 10, pauses)

    def test_only_the_failures_in_the_window_count(self):
        # The pauses before the restarts are 0, 1, 2 and 4 s, so two restarts are enough for any number of failures.
        worker = self.script('[ "$ACCEL_GENERATION" -gt 4 ] && exit 0; exit 7')
        result = self.submit("--max_restarts", 2, "--restart_window", "1s", worker)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(self.jobs(result.out.split()[0])[0]["generations"]), 5)
        result = self.submit("--max_restarts", 2, worker)
        self.assertEqual(result.code, 7, result)


class BlamedNode(cluster.ClusterTest):
    AGENTS = 3

    def test_a_node_on_which_each_failure_begins_is_left_out(self):
        worker = self.script('[ "$ACCEL_NODE" = n2 ] && exit 7; until [ -e go ]; do sleep 0.05; done')
        job = self.accel("submit", "--cpu", "--nodes", 2, "--max_restarts", 9, worker).out.split()[0]

        def is_elsewhere():
            [status] = self.jobs(job)
            return status["phase"] == "RUNNING" and [each["node_name"] for each in status["generations"][-1]["placements"]]

        # It begins on the first two nodes by name.
        self.assertEqual(cluster.wait_until(is_elsewhere, 60, "the job runs"), ["n1", "n3"])
        self.assertEqual(self.jobs(job)[0]["failures"], 3)
        nodes = {node["name"]: node["refuses_work"] for node in json.loads(self.accel("nodes", "--json").out)["nodes"]}
        self.assertEqual(nodes, {"n1": "", "n2": f"the last 3 failures of job {job} all began here", "n3": ""})
        self.path("go").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job ends")


if __name__ == "__main__":
    cluster.main()
