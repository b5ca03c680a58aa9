"""accel::launch() of C++: a function in several processes (launched_functions.cc)."""

import pathlib
import signal

from tests.e2e import cluster

PROGRAM = cluster.runfile("tests/e2e/launched_functions")


class CppFunctions(cluster.Test):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{pathlib.Path(cluster.ACCEL).parent}:{self.env['PATH']}"

    def run_program(self, *words):
        return self.run_command(PROGRAM, *words)

    def test_a_worker_gets_the_results_of_earlier_calls(self):
        result = self.run_program("several_calls")
        self.assertEqual(result.code, 0, result)
        self.assertIn("bytes 25: rank 0: refused after 20\n", result.out)
        self.assertEqual(result.out.count("caller\n"), 1)
        self.assertEqual(result.out.count("worker\n"), 3 + 1 + 2)

    def test_the_processes_form_a_world(self):
        result = self.run_program("train")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.out, "sum 2001\nsum 2001\n")

    def test_the_first_error(self):
        for how, says in (("throw", "error 1 1: rank 1: no such data\n"),
                          ("signal", "error 1 137: rank 1 was killed by signal 9 (Killed)\n"),
                          ("exit", "error 1 0: rank 1 exited with code 0 before the function returned")):
            with self.subTest(how=how):
                result = self.run_program("fail", how)
                self.assertEqual(result.code, 0, result)
                self.assertIn(says, result.out)

    def test_misuse(self):
        result = self.run_program("misuse")
        self.assertEqual(result.code, 0, result)
        self.assertIn("num_processes must be at least 1, not 0\n", result.out)
        self.assertIn("cannot execute /no/such/accel: No such file or directory; install it, or set ACCEL_PROGRAM\n", result.out)
        self.assertIn("error 0 1: rank 0: accel::launch: called by a function that it runs\n", result.out)

    def test_the_processes_end_with_the_caller(self):
        caller = self.start(PROGRAM, "stay", self.dir)
        pids = [int(self.wait_for_file(f"pid.{rank}.whole")) for rank in range(2)]
        caller.send_signal(signal.SIGKILL)
        self.assertEqual(self.finish(caller).code, -signal.SIGKILL)
        cluster.wait_until(lambda: not any(cluster.is_alive(pid) for pid in pids), 60, "no process is left")
        self.assertEqual(list(self.path("").glob("*.part.*")), [])


if __name__ == "__main__":
    cluster.main()
