"""A program that resumes from its newest checkpoint is killed and continues without help."""

import re

from tests.e2e import cluster

RESUMING = cluster.runfile("tests/e2e/resuming_training")


class Launch(cluster.Test):
    def train(self, killed_in, *arguments):
        result = self.launch("--num_processes", 2, "--max_restarts", 1, *arguments, RESUMING,
                             self.path(f"run_{killed_in}"), killed_in)
        self.assertEqual(result.code, 0, result)
        self.assertIn("every sample once in each epoch", result.out)
        return [int(batch) for batch in re.findall(r"after batch (\d+)", result.out)]

    def test_a_killed_rank_costs_the_batches_since_the_last_save_and_no_sample(self):
        # Killed in the first epoch, at the start of the second one, and in the last batch of all (an epoch
        # has 8 batches).
        for killed_in in (5, 9, 24):
            begun = self.train(killed_in)
            self.assertEqual(begun[0], 0)
            # The save of three batches before may not have been finished.
            last_save = (killed_in - 1) // 3 * 3
            self.assertIn(begun[1], (last_save, max(0, last_save - 3)), begun)

    def test_killed_before_the_first_save(self):
        self.assertEqual(self.train(2), [0, 0])


if __name__ == "__main__":
    cluster.main()
