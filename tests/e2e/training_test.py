"""Real training: LibTorch programs, torch.distributed and Accelerate, through launch and through agents."""

import re
import socket

from tests.e2e import cluster

DDP_STEP = cluster.runfile("bench/worker/ddp_step")
FIRST_COLLECTIVE = cluster.runfile("bench/worker/first_collective")
PLAIN = cluster.runfile("examples/python/ddp.py")
ACCELERATE = cluster.runfile("examples/python/train_accelerate.py")
# Does what `accelerate test` does: runs a script of the installed package, and prints a sentence once it has passed.
_SUCCESS = "Test is a success! You are ready for your distributed training!"
UPSTREAM = f"""
import runpy, sys
runpy.run_module("accelerate.test_utils.scripts." + sys.argv[1], run_name="__main__")
print("{_SUCCESS}", flush=True)
"""
# A Gloo thread that releases a Python tensor while the interpreter exits aborts the process, under torchrun too and
# whatever the program does (PyTorch 2.11; its pull request 179291 was abandoned).
_GLOO_AT_EXIT = "terminate called without an active exception"


def python_succeeded(result):
    return result.code == 0 or result.code == 134 and _GLOO_AT_EXIT in result.err


class Launch(cluster.Test):
    def test_cpp_collective_of_two(self):
        result = self.launch("--num_processes", 2, FIRST_COLLECTIVE)
        self.assertEqual(result.code, 0, result)

    def test_cpp_restart_after_sigkill(self):
        result = self.launch("--num_processes", 2, "--max_restarts", 1, FIRST_COLLECTIVE, "--crash", self.path("time"))
        self.assertEqual(result.code, 0, result)
        self.assertRegex(result.out, r"first all-reduce [0-9.]+")

    def test_shared_memory_and_gloo_train_to_the_same_bits(self):
        for processes in (2, 3):
            digests = set()
            for shared_memory, transport in ((1, "shared memory"), (0, "sockets")):
                # Runs 21 steps of a model whose gradients fill two buckets.
                result = self.launch("--num_processes", processes, "--env", f"ACCEL_SHARED_MEMORY={shared_memory}", DDP_STEP,
                                     512, 4, 1, seconds=600)
                self.assertEqual(result.code, 0, result)
                found = re.findall(r"parameters ([0-9a-f]+)", result.out)
                self.assertEqual(len(found), processes, result)
                # Otherwise the test would compare a transport with itself.
                self.assertEqual(re.findall(r"transport (.+)", result.out), [transport] * processes, result)
                digests.update(found)
            self.assertEqual(len(digests), 1, f"{processes} processes: {digests}")

    def test_torch_distributed_with_squatters_on_its_ports(self):
        squatters = []
        for port in (29500, 29400):
            squatter = socket.socket()
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                squatter.bind(("127.0.0.1", port))
                squatter.listen()
            except OSError:
                pass  # Another process holds the port already, which serves as well.
            squatters.append(squatter)
        result = self.launch("--num_processes", 2, "--python", cluster.PYTHON, PLAIN, seconds=600)
        for squatter in squatters:
            squatter.close()
        self.assertTrue(python_succeeded(result), result)

    def test_accelerate(self):
        result = self.launch("--num_processes", 2, "--python", cluster.PYTHON, ACCELERATE, seconds=600)
        self.assertTrue(python_succeeded(result), result)

    def run_upstream(self, name):
        """Returns what a test script of Accelerate printed."""
        result = self.launch("--num_processes", 2, "--python", cluster.PYTHON, self.python(UPSTREAM), name, seconds=600)
        # The upstream script sometimes aborts at interpreter exit, after it has passed (under torchrun too).
        self.assertEqual(result.out.count(_SUCCESS), 2, result)
        return result.out

    def test_upstreams_own_test_script(self):
        self.assertIn("Training yielded the same results", self.run_upstream("test_script"))

    def test_upstreams_operations(self):
        self.assertEqual(self.run_upstream("test_ops").count("testing reduce_max"), 2)

    def test_upstreams_gradient_accumulation(self):
        self.assertIn("gradient accumulation with optimizer and scheduler", self.run_upstream("test_sync"))


class Submit(cluster.ClusterTest):
    AGENTS = 2

    def test_cpp_over_two_agents(self):
        result = self.submit("--nodes", 2, FIRST_COLLECTIVE)
        self.assertEqual(result.code, 0, result)

    def test_torch_distributed_over_two_agents(self):
        result = self.submit("--nodes", 2, "--python", cluster.PYTHON, PLAIN, seconds=600)
        self.assertTrue(python_succeeded(result), result)

    def test_accelerate_over_two_agents(self):
        result = self.submit("--nodes", 2, "--python", cluster.PYTHON, ACCELERATE, seconds=600)
        self.assertTrue(python_succeeded(result), result)


if __name__ == "__main__":
    cluster.main()
