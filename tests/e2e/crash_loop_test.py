"""A job that fails soon after each start: the pauses grow, the budget ends it, and each failure is kept, the first too."""

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


if __name__ == "__main__":
    cluster.main()
