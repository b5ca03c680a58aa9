"""The checker of histories finds each planted violation, and nothing in a history without one."""

import unittest

from tests.e2e import history

# Job a is killed in its first generation and succeeds in the second. Job b ends before its submit is acknowledged.
SOUND = """
accepted 1 a 2
started 1 a 1 0 100 10
started 1 a 1 1 101 10
started 2 b 1 0 102 11
ended 1 a 1 1
hit a 1
ended 2 b 1 0
accepted 2 b 1
started 1 a 2 1 104 10
started 1 a 2 0 103 10
ended 1 a 2 0
ended 1 a 2 1
finished a SUCCEEDED
finished b SUCCEEDED
"""


def kinds(text):
    checker = history.History()
    for line in text.strip().splitlines():
        checker.add(line)
    return [each.kind for each in checker.violations()]


class Checker(unittest.TestCase):
    def expect(self, kind, old="", new="", more=""):
        self.assertIn(old, SOUND)
        self.assertEqual(kinds(SOUND.replace(old, new) + more), [kind])

    def test_a_sound_history(self):
        self.assertEqual(kinds(SOUND), [])

    def test_an_acknowledged_job_that_nothing_is_known_of(self):
        self.expect(history.LOST, more="accepted 3 c 1")

    def test_a_job_that_failed(self):
        self.expect(history.LOST, "finished b SUCCEEDED", "finished b FAILED")

    def test_a_job_that_never_ran(self):
        self.expect(history.LOST, more="accepted 3 c 1\nfinished c SUCCEEDED")

    def test_a_rank_that_did_not_end(self):
        self.expect(history.LOST, "ended 1 a 2 1\n")

    def test_a_rank_next_to_an_earlier_one(self):
        self.expect(history.TWICE, "started 1 a 2 0", "shared 1 a 2 0\nstarted 1 a 2 0")

    def test_a_rank_that_starts_twice(self):
        self.expect(history.TWICE, "ended 2 b 1 0", "started 2 b 1 0 105 12\nended 2 b 1 0")

    def test_an_older_generation_after_a_newer_one(self):
        late = "started 1 a 1 1 101 10\n"
        newer = "started 1 a 2 1 104 10\n"
        self.assertEqual(kinds(SOUND.replace(late, "").replace(newer, newer + late)), [history.TWICE])

    def test_a_job_that_runs_again_after_its_end(self):
        self.expect(history.TWICE, "ended 2 b 1 0\n", "ended 2 b 1 0\nstarted 2 b 2 0 106 11\nended 2 b 2 0\n")

    def test_a_start_after_the_final_phase(self):
        self.expect(history.TWICE, "finished a", "hit b 1\nfinished a", "started 2 b 2 0 106 11\nended 2 b 2 0")

    def test_a_submit_that_became_two_jobs(self):
        self.expect(history.TWICE, more="accepted 2 c 1\nstarted 2 c 1 0 107 12\nended 2 c 1 0\nfinished c SUCCEEDED")

    def test_two_final_phases(self):
        self.expect(history.TWICE, more="finished b SUCCEEDED")

    def test_a_rank_that_no_world_has(self):
        self.expect(history.TWICE, "ended 2 b 1 0", "started 2 b 1 1 108 11\nended 2 b 1 0")

    def test_a_restart_without_a_reason(self):
        self.expect(history.DISTURBED, "hit a 1\n")

    def test_a_process_that_is_left(self):
        self.expect(history.ORPHAN, more="orphan 109 sleep")

    def test_the_processes_that_run(self):
        checker = history.History()
        for line in SOUND.strip().splitlines()[:5]:
            checker.add(line)
        self.assertEqual(checker.pids, {100: ("a", 1, 0, 10), 102: ("b", 1, 0, 11)})


if __name__ == "__main__":
    unittest.main()
