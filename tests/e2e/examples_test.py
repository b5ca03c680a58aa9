"""The examples on their real data: they learn, and a run that is killed resumes from its checkpoint."""

import gzip
import json
import os
import pathlib
import re
import signal

from tests.e2e import cluster

CHAR_TRANSFORMER = cluster.runfile("examples/char_transformer")
FASHION_MNIST = cluster.runfile("examples/fashion_mnist")
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


class CharTransformer(cluster.Test):
    def worker(self, rank):
        """Returns the pid of a rank of this test."""
        needles = (f"ACCEL_TEST_TAG={self.tag}".encode(), f"\0RANK={rank}\0".encode())
        for entry in pathlib.Path("/proc").iterdir():
            try:
                environment = (entry / "environ").read_bytes()
                if all(needle in environment for needle in needles):
                    return int(entry.name)
            except OSError:
                pass
        return None

    def test_learns_and_resumes_after_kill_9(self):
        project = self.path("project")
        launch = self.start(cluster.ACCEL, "launch", "--cpu", "--num_processes", 2, "--max_restarts", 1, CHAR_TRANSFORMER,
                            "--project", project, "--steps", 300, "--save_every", 20, "--eval_every", 150)
        cluster.wait_until((project / "checkpoints/checkpoint_2").exists, 400, "60 steps are saved")
        os.kill(self.worker(1), signal.SIGKILL)
        result = self.finish(launch, 600)
        self.assertEqual(result.code, 0, result)

        resumed = int(re.search(r"resumed at step (\d+)", result.err).group(1))
        self.assertGreaterEqual(resumed, 60, result)
        self.assertEqual(resumed % 20, 0)
        self.assertIn("And God said, ", result.out)
        # A model that knows only the frequency of characters has a loss of 2.9 nats each; a random choice of
        # 73 has 4.3.
        loss = float(re.search(r"step 300: test loss ([0-9.]+)", result.out).group(1))
        self.assertLess(loss, 2.45, result)

        lines = [json.loads(line) for line in (project / "bible/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(sum("config" in line for line in lines), 2)
        training = {line["step"]: line["values"]["train/loss"] for line in lines if "train/loss" in line.get("values", {})}
        self.assertEqual(sorted(training), list(range(10, 301, 10)))
        self.assertGreater(training[10], 2.8)
        self.assertLess(training[300], 2.5)
        self.assertEqual(len(list(project.glob("bible/events.out.tfevents.*"))), 2)

    def test_a_sharded_run_continues_with_other_processes(self):
        def train(processes, steps, *flags):
            result = self.launch("--num_processes", processes, CHAR_TRANSFORMER, "--project", self.path("project"),
                                 "--eval_every", 1000, "--save_every", 20, "--steps", steps, *flags, seconds=600)
            self.assertEqual(result.code, 0, result)
            return result

        self.assertNotIn("resumed", train(2, 40, "--shard", "--recompute").err)
        self.assertIn("resumed at step 40", train(3, 60, "--shard").err)
        last = train(1, 80)
        self.assertIn("resumed at step 60", last.err)
        self.assertLess(float(re.search(r"step 80: test loss ([0-9.]+)", last.out).group(1)), 3.1, last)


class FashionMnist(cluster.Test):
    def accuracy(self, result, epoch, of):
        """Returns the accuracy after an epoch, which must be that of so many samples."""
        self.assertEqual(result.code, 0, result)
        accuracy, samples = re.search(rf"epoch {epoch}: test accuracy (0\.\d+) \((\d+) samples\)", result.out).groups()
        self.assertEqual(samples, str(of))
        return float(accuracy)

    def first_images(self, train, test):
        """Returns a folder with the first images of both parts of the data."""
        folder = self.path("images")
        folder.mkdir()
        for part, count in (("train", train), ("t10k", test)):
            for name, header, size in ((f"{part}-images-idx3-ubyte.gz", 16, 28 * 28), (f"{part}-labels-idx1-ubyte.gz", 8, 1)):
                # The second number of the header counts the images.
                with gzip.open(DATA / name) as file:
                    content = bytearray(file.read(header + count * size))
                content[4:8] = count.to_bytes(4, "big")
                (folder / name).write_bytes(gzip.compress(content))
        return folder

    def check_accumulates_and_resumes(self, first_least, second_least, of, *flags):
        def train(epochs):
            return self.launch("--num_processes", 2, *flags, "--accumulate", 2, "--project", self.path("project"), "--epochs", epochs,
                               seconds=600)

        first = self.accuracy(train(1), 1, of)
        self.assertGreater(first, first_least)
        # With more epochs the schedule is longer and training continues.
        result = train(2)
        self.assertIn("resumed after epoch 1", result.out)
        self.assertNotIn("epoch 1: test", result.out)
        self.assertGreater(self.accuracy(result, 2, of), max(first, second_least))

    def test_accumulates_and_resumes(self):
        self.check_accumulates_and_resumes(0.82, 0.83, 10000, FASHION_MNIST)

    def test_accumulates_in_bf16_and_resumes(self):
        # On a tenth of the images, because bf16 takes six times as long on processors that have no instructions for it.
        images = self.first_images(train=6000, test=1000)
        self.check_accumulates_and_resumes(0.5, 0.6, 1000, "--mixed_precision", "bf16", FASHION_MNIST, "--data", images)


if __name__ == "__main__":
    cluster.main()
