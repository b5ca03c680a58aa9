"""An elastic job continues on the nodes that are left. A job that has ended runs again on other nodes."""

from tests.e2e import cluster


class Elastic(cluster.ClusterTest):
    AGENTS = 3
    NODE_TIMEOUT = 8

    def job(self):
        return self.jobs()[0]

    def generation(self):
        return len(self.job()["generations"])

    def submit_elastic(self, nodes):
        # Each rank says which world it is in, and runs until the file `go` exists.
        worker = self.script("echo $RANK > up.$ACCEL_GENERATION.$WORLD_SIZE.$RANK\n"
                             "trap \"\" TERM; until [ -e go ]; do sleep 0.05; done")
        return self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", nodes, "--processes_per_node", 2, worker)

    def wait_for_world(self, generation, size):
        for rank in range(size):
            self.wait_for_file(f"up.{generation}.{size}.{rank}")

    def test_survivors_go_on_without_the_node_that_was_lost(self):
        submit = self.submit_elastic("2:3")
        self.wait_for_world(1, 6)
        cluster.wait_until(lambda: self.job()["phase"] == "RUNNING", 60, "the job runs")
        self.agents[1].kill()
        self.wait_for_world(2, 4)
        # The workers ignore SIGTERM, so with a grace they would have hung in their collectives until its end.
        for name in ("n1", "n3"):
            self.assertRegex(self.log(name), r" stop job=\S+ generation=1 grace=0\b")
        self.path("go").touch()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, f"{result}\n{self.log('coordinator')}")
        job = self.job()
        self.assertEqual((job.get("failures", 0), job["membership_changes"]), (0, 1), job)

    def test_a_job_starts_on_the_nodes_that_there_are(self):
        submit = self.submit_elastic("1:8")
        self.wait_for_world(1, 6)
        self.path("go").touch()
        self.assertEqual(self.finish(submit).code, 0)

    def test_a_job_that_failed_is_submitted_again_on_fewer_nodes(self):
        worker = self.script("[ $WORLD_SIZE = 2 ] || exit 7\necho $1 of $WORLD_SIZE with $LR")
        failed = self.submit("--nodes", 3, "--env", "LR=0.1", worker, "run")
        self.assertEqual(failed.code, 7, failed)
        old = failed.out.split()[0]
        again = self.accel("resubmit", "--wait", "--nodes", 2, old)
        self.assertEqual(again.code, 0, again)
        new = again.out.split()[0]
        self.assertEqual(sorted(self.accel("logs", new).out.splitlines()),
                         ["[rank 0] run of 2 with 0.1", "[rank 1] run of 2 with 0.1"])
        self.assertEqual([self.jobs(job)[0]["phase"] for job in (old, new)], ["FAILED", "SUCCEEDED"])


if __name__ == "__main__":
    cluster.main()
