"""The checker of job records finds each planted contradiction, and nothing in a sound record."""

import copy
import unittest

from tests.e2e import job_records

# Two ranks on node a and one on node b failed, and ran again to their end.
GENERATIONS = [{
    "generation": number,
    "ended_unix_ms": "7",
    "placements": [{"node_id": "a", "first_rank": 0, "processes": 2}, {"node_id": "b", "first_rank": 2, "processes": 1}],
} for number in (1, 2)]
SOUND = {
    "job_id": "j", "phase": "SUCCEEDED", "exit_code": 0, "next": "AFTER_STOP_UNSPECIFIED", "ended_unix_ms": "7", "failures": 1,
    "spec": {"max_restarts": 1, "restart_window_ms": "0"}, "generations": GENERATIONS,
}


class Checker(unittest.TestCase):
    def expect(self, text, **changes):
        [found] = job_records.contradictions({**SOUND, **changes})
        self.assertIn(text, found)

    def expect_of_generation(self, text, change):
        generations = copy.deepcopy(GENERATIONS)
        change(generations[1])
        self.expect(text, generations=generations)

    def test_a_sound_record(self):
        self.assertEqual(job_records.contradictions(SOUND), [])
        failed = {**SOUND, "phase": "FAILED", "exit_code": 3, "cause": {}, "failures": 2}
        self.assertEqual(job_records.contradictions(failed), [])
        self.assertEqual(job_records.contradictions({**SOUND, "generations": GENERATIONS[1:]}), [], "only the newest is kept")

    def test_the_end(self):
        self.expect("its phase is STOPPING", phase="STOPPING")
        self.expect("SUCCEEDED with exit code 3", exit_code=3)
        self.expect("CANCELLED with exit code 0", phase="CANCELLED")
        self.expect("FAILED without a cause", phase="FAILED", exit_code=1)
        self.expect("TO_RESTARTING follows", next="TO_RESTARTING")
        self.expect("has no end", ended_unix_ms="0")
        self.expect("failed 3 times with 1 restarts", failures=3)

    def test_numbers_of_generations(self):
        self.expect("its generations are [1, 1]", generations=[GENERATIONS[0], GENERATIONS[0]])
        self.expect("its generations are [2, 1]", generations=GENERATIONS[::-1])
        self.expect_of_generation("its generations are [1, 3]", lambda generation: generation.update(generation=3))
        self.expect_of_generation("a generation has no end", lambda generation: generation.update(ended_unix_ms="0"))

    def test_ranks(self):
        self.expect_of_generation("not dense", lambda generation: generation["placements"][1].update(first_rank=3))
        self.expect_of_generation("not dense", lambda generation: generation["placements"].reverse())
        self.expect_of_generation("not dense", lambda generation: generation["placements"][1].update(processes=0))
        self.expect_of_generation("on a node twice", lambda generation: generation["placements"][1].update(node_id="a"))


if __name__ == "__main__":
    unittest.main()
