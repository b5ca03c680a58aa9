"""Stock torch.distributed clients against our server, started as the program in the first argument."""

import datetime
import os
import subprocess
import sys
import threading
import unittest

# A client resolves its peer's name for its log lines. This bounds the delay where no
# name server answers.
os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"

import torch
import torch.distributed as dist

SERVER = os.path.abspath(sys.argv.pop(1))
WORKER_TIMEOUT_S = 240

GLOO_WORKER = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
tensor = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(tensor)
gathered = [None] * dist.get_world_size()
dist.all_gather_object(gathered, {"rank": dist.get_rank()})
dist.barrier()
assert gathered == [{"rank": rank} for rank in range(dist.get_world_size())], gathered
assert tensor.item() == 3.0, tensor
dist.destroy_process_group()
"""


class PythonClientTest(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop_server)
        self.port = int(self.server.stdout.readline())

    def stop_server(self):
        self.server.stdin.close()
        self.server.stdout.close()
        self.assertEqual(self.server.wait(timeout=60), 0)

    def client(self, seconds=120, use_libuv=True):
        return dist.TCPStore(
            "127.0.0.1",
            self.port,
            is_master=False,
            timeout=datetime.timedelta(seconds=seconds),
            use_libuv=use_libuv,
        )

    def use_every_method(self, store):
        store.set("k", "v")
        self.assertEqual(store.get("k"), b"v")
        self.assertEqual(store.add("n", 40), 40)
        self.assertEqual(store.add("n", 2), 42)
        self.assertTrue(store.check(["k", "n"]))
        self.assertFalse(store.check(["k", "missing"]))
        store.wait(["k"])
        store.wait(["k", "n"], datetime.timedelta(seconds=5))
        self.assertEqual(store.compare_set("k", "v", "w"), b"w")
        self.assertEqual(store.compare_set("k", "v", "x"), b"w")
        self.assertEqual(store.compare_set("new", "", "x"), b"x")
        self.assertEqual(store.compare_set("missing", "e", "x"), b"e")
        self.assertEqual(store.num_keys(), 3)
        self.assertTrue(store.delete_key("new"))
        self.assertFalse(store.delete_key("new"))
        store.append("log", "one,")
        store.append("log", "two")
        self.assertEqual(store.get("log"), b"one,two")
        store.multi_set(["a", "b"], ["1", ""])
        self.assertEqual(store.multi_get(["b", "a", "k"]), [b"", b"1", b"w"])
        self.assertTrue(store.has_extended_api())

    def test_every_method(self):
        store = self.client()
        self.use_every_method(store)
        self.assertEqual(sorted(store.list_keys()), ["a", "b", "k", "log", "n"])
        store.queue_push("q", "one")
        store.queue_push("q", b"\x00\xff")
        self.assertEqual(store.queue_len("q"), 2)
        self.assertEqual(store.queue_pop("q"), b"one")
        self.assertEqual(store.queue_pop("q", block=False), b"\x00\xff")
        with self.assertRaises(dist.QueueEmptyError):
            store.queue_pop("q", block=False)
        self.assertEqual(store.clone().get("k"), b"w")

    def test_every_method_without_libuv(self):
        self.use_every_method(self.client(use_libuv=False))

    def test_time_outs(self):
        store = self.client()
        store.set_timeout(datetime.timedelta(seconds=0.1))
        for call in (
            lambda: store.get("missing"),
            lambda: store.wait(["missing", "too"]),
            lambda: store.wait(["missing"], datetime.timedelta(milliseconds=10)),
            lambda: store.queue_pop("missing"),
        ):
            with self.assertRaisesRegex(dist.DistStoreError, "wait timeout"):
                call()
        store.set_timeout(datetime.timedelta(seconds=60))
        store.set("missing", "no more")
        self.assertEqual(store.get("missing"), b"no more")

    def test_blocked_get_and_pop(self):
        results = []

        def read():
            store = self.client()
            results.append(store.get("k"))
            results.append(store.queue_pop("q"))

        thread = threading.Thread(target=read)
        thread.start()
        store = self.client()
        store.set("k", "v")
        store.queue_push("q", "element")
        thread.join(timeout=240)
        self.assertEqual(results, [b"v", b"element"])

    def test_large_value(self):
        value = os.urandom(30 << 20)
        self.client().set("large", value)
        self.assertEqual(self.client().get("large"), value)

    def test_init_process_group_through_the_environment(self):
        workers = []
        for rank in range(2):
            environment = dict(
                os.environ,
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(self.port),
                RANK=str(rank),
                WORLD_SIZE="2",
                TORCHELASTIC_USE_AGENT_STORE="True",
                TORCHELASTIC_RESTART_COUNT="0",
                GLOO_SOCKET_IFNAME="lo",
                OMP_NUM_THREADS="1",
            )
            worker = subprocess.Popen([sys.executable, "-c", GLOO_WORKER], env=environment)
            self.addCleanup(worker.wait)
            self.addCleanup(worker.kill)
            workers.append(worker)
        for worker in workers:
            self.assertEqual(worker.wait(timeout=WORKER_TIMEOUT_S), 0)


if __name__ == "__main__":
    unittest.main()
