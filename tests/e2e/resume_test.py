"""A loop over a data loader is killed in mid-epoch and resumed: it sees each sample once, with any number of processes."""

import re

from tests.e2e import cluster

COUNT_SAMPLES = cluster.runfile("tests/e2e/count_samples")
NUMBERS = 101


class Resume(cluster.Test):
    def count(self, processes, folder, kind, *flags, restarts=0, code=0):
        result = self.launch("--num_processes", processes, "--max_restarts", restarts, COUNT_SAMPLES, self.path(folder), kind,
                             *flags, seconds=240)
        if code == 0:
            self.assertEqual(result.code, 0, result)
        else:
            self.assertNotEqual(result.code, 0, result)
        line = re.sub(r"^\[rank.*?\]", "", result.out)  # With several ranks, launch prefixes each line with the rank.
        return [int(number) for number in line.split()]

    def expect_two_epochs(self, kind, seen):
        """Returns each number once per epoch. Those of a stream are 100 higher in the second epoch."""
        first, second = sorted(seen[:NUMBERS]), sorted(seen[NUMBERS:])
        self.assertEqual(first, list(range(NUMBERS)))
        self.assertEqual(second, [number + (100 if kind == "stream" else 0) for number in first])

    def expect_exact_resume(self, kind):
        whole = self.count(2, "whole", kind)
        self.expect_two_epochs(kind, whole)
        # Killed in the first epoch, then in the second, then run to the end, each time with another
        # number of processes.
        self.assertEqual(self.count(2, "killed", kind, "--kill_at", 7, code=1), [])
        self.assertTrue(any(self.path("killed/checkpoints").iterdir()))
        self.assertEqual(self.count(3, "killed", kind, "--kill_at", 9, code=1), [])
        self.assertEqual(self.count(1, "killed", kind), whole)

    def test_map_style(self):
        self.expect_exact_resume("map")

    def test_one_reader_for_all(self):
        self.expect_exact_resume("dispatched")

    def test_stream(self):
        self.expect_exact_resume("stream")

    def test_a_restarted_generation_resumes_by_itself(self):
        whole = self.count(3, "whole", "map")
        self.assertEqual(self.count(3, "restarted", "map", "--kill_at", 5, restarts=1), whole)


if __name__ == "__main__":
    cluster.main()
