"""The rank that failed first is the cause, also if another node reports its failure earlier."""

import pathlib

from tests.e2e import cluster, tcp_relay

# Rank 3 fails with 7 at once. Later, ranks 0 and 1 fail with 3, as peers of a broken collective do, even if they are asked
# to stop before. Rank 2 runs until it is stopped.
_WORKER = """
case $RANK in 0|1) trap "" TERM ;; esac
echo $$ > new.$RANK; mv new.$RANK up.$RANK
until [ -e go.$RANK ]; do sleep 0.01; done
case $RANK in
3) echo "ValueError: the origin" >&2; exit 7 ;;
0|1) sleep 0.5; exit 3 ;;
esac
"""


class FirstFailure(cluster.ClusterTest):
    """The agent of node n2 reaches the coordinator through a relay."""

    LISTEN = "127.0.0.1:0"
    NODE_TIMEOUT = 60  # Node n2 is held back, and must not count as lost meanwhile.

    def setUp(self):
        self.link = None
        super().setUp()
        self.agents.append(self.start_agent("n2", env={"ACCEL_COORDINATOR": self.link.address}))
        self.wait_for_nodes(2)

    def start_coordinator(self, **options):
        super().start_coordinator(**options)
        if self.link is None:
            self.link = tcp_relay.TcpRelay(self.env["ACCEL_COORDINATOR"])

    def tearDown(self):
        self.link.release()
        super().tearDown()
        self.link.close()

    def fail_in_the_wrong_order(self, *flags):
        """Starts a job, and lets it fail so that the second failure is reported first. Returns its id."""
        self.job = self.accel("submit", "--cpu", "--nodes", 2, "--processes_per_node", 2, *flags,
                              self.script(_WORKER)).out.split()[0]
        cluster.wait_until(lambda: all(self.path(f"up.{rank}").exists() for rank in range(4)), 60, "all ranks run")
        cluster.wait_until(lambda: self.status()["phase"] == "RUNNING", 60, "the coordinator knows that they run")
        self.link.hold()
        self.path("go.3").touch()
        # Not even as a zombie: its shim has seen its end, and the others fail after that.
        first = pathlib.Path("/proc", self.path("up.3").read_text().strip())
        cluster.wait_until(lambda: not first.exists(), 60, "rank 3 has failed")
        self.path("go.0").touch()
        self.path("go.1").touch()
        cluster.wait_until(lambda: self.status()["phase"] == "STOPPING", 60, "a failure is known")
        self.assertIn(self.status()["cause"].get("rank", 0), (0, 1))

    def status(self):
        return self.jobs(self.job)[0]

    def wait_for_end(self):
        cluster.wait_until(lambda: self.status()["phase"] == "FAILED", 60, "the job ends")
        job = self.status()
        cause = job["cause"]
        self.assertEqual((cause["rank"], cause["node_name"], cause["exit"]["code"]), (3, "n2", 7), job)
        self.assertEqual(cause["last_lines"], ["ValueError: the origin"])
        self.assertEqual(job["exit_code"], 7)
        # Rank 2 was stopped, so it did not fail.
        self.assertEqual(cause["later"]["ranks"], 2, cause)
        return job

    def test_a_late_report_of_an_earlier_failure_replaces_the_cause(self):
        self.fail_in_the_wrong_order()
        self.link.release()
        self.wait_for_end()
        text = self.accel("status", self.job).out
        self.assertLessEqual(len(text.splitlines()), 10, text)
        for part in ("FAILED with exit code 7", "rank 3 on node n2 exited with code 7", "ValueError: the origin",
                     "2 exited with code 3", "0 of 0 used", f"accel logs {self.job}"):
            self.assertIn(part, text)
        self.assertRegex(text, r"2 other ranks failed within [0-9.]+ s: ")

    def test_a_new_coordinator_chooses_as_the_old_one_would_have(self):
        self.fail_in_the_wrong_order("--max_restarts", 2, "--no_retry_on", 7)
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.link.release()
        job = self.wait_for_end()
        self.assertEqual(job["failures"], 1)
        self.assertIn("exit code 7 is not retried", job["cause"]["note"])


if __name__ == "__main__":
    cluster.main()
