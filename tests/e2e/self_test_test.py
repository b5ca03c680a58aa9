"""`accel test` on this machine: what works, and how a failure is told."""

import json

from tests.e2e import cluster


class SelfTest(cluster.Test):

    def test_two_processes_pass(self):
        result = self.accel("test", "--cpu", "--num_processes", 2, "--python", cluster.PYTHON, seconds=300)
        self.assertEqual(result.code, 0, result)
        for line in ("[rank 0] ok: every rank takes part\n", "[rank 0] ok: training equals that of one process\n",
                     "[rank 0] ok: Python's training equals that of one process\n",
                     "[rank 0] ok: a checkpoint is saved and loaded\n",
                     "Test is a success! You are ready for your distributed training!\n"):
            self.assertIn(line, result.out)
        self.assertEqual(result.out.count(" on node "), 2, result)

    def test_one_process_passes(self):
        result = self.accel("test", "--cpu", "--json")
        self.assertEqual(result.code, 0, result)
        summary = json.loads(result.out.splitlines()[-1])
        self.assertEqual((summary["schema_version"], summary["failed"]), (1, None))
        self.assertIn("C++", summary["passed"])
        self.assertIn("ok: training equals that of one process\n", result.out)

    def test_a_failure_names_the_rank_the_node_and_the_check(self):
        result = self.accel("test", "--cpu", "--num_processes", 2, env={"ACCEL_SELF_TEST": self.failing()})
        self.assertEqual(result.code, 1, result)
        self.assertRegex(result.err, r'rank 0 on node \S+ \(cpu\): the check "a checkpoint is saved and loaded" failed: .*/no/such/folder')
        self.assertIn("accel: the test of C++ failed\n", result.err)
        self.assertNotIn("success", result.out)

    def failing(self):
        """Returns the program, on a node whose folder for temporary files does not exist."""
        self.script(f'TMPDIR=/no/such/folder exec {cluster.runfile("runtime/self_test/accel-self-test")} "$@"', "failing")
        return self.path("failing")

    def test_without_a_program_it_says_what_is_missing(self):
        result = self.accel("test", "--cpu", "--python", "/bin/true", env={"ACCEL_SELF_TEST": "/no/such/program"})
        self.assertEqual(result.code, 1, result)
        self.assertIn("ACCEL_SELF_TEST names /no/such/program, which is not an executable file", result.err)
        self.assertIn("/bin/true has no package torch", result.err)


if __name__ == "__main__":
    cluster.main()
