"""The disk of the coordinator's store is full, or that of an agent. Each has a small file system of its own."""

import contextlib
import pathlib
import subprocess
import unittest

from tests.e2e import cluster

FULL = "the disk is full, so"


def can_mount():
    return subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0


class SmallDisk(cluster.ClusterTest):
    def on_small_disk(self, folder, mebibytes):
        """Returns the command that executes another one in a mount namespace, in which a folder of this test is a file
        system of its own."""
        self.path(folder).mkdir()
        mount = self.script(f"mount -t tmpfs -o size={mebibytes}m tmpfs {self.path(folder)}; exec \"$@\"", name=f"{folder}.sh")
        return "unshare", "-rm", mount

    def file(self, process, folder):
        """Returns the file that fills the disk, as it is named outside of the namespace of the process."""
        return pathlib.Path(f"/proc/{process.pid}/root", *self.path(folder).parts[1:], "fill")

    def fill(self, file):
        with contextlib.suppress(OSError), open(file, "wb", buffering=0) as out:
            while True:
                out.write(bytes(4096))

    def start_worker(self, name):
        """Starts a job that prints its line to a file, and runs until the file `go` exists. Returns its id."""
        worker = self.script(f"echo started >> {name}; while [ ! -e go ]; do sleep 0.05; done", name=f"{name}.sh")
        job = self.accel("submit", "--cpu", worker)
        self.assertEqual(job.code, 0, job)
        self.wait_for_file(name)
        return job.out.split()[0]


@unittest.skipUnless(can_mount(), "this user may not make a mount namespace, so no small file system can be had")
class FullStore(SmallDisk):
    NODE_TIMEOUT = 3

    def start_coordinator(self, *flags, **options):
        super().start_coordinator(*flags, under=self.on_small_disk("coordinator", 4), **options)

    def test_new_jobs_are_refused_and_none_of_them_runs_later(self):
        runs = self.start_worker("first")
        fill = self.file(self.coordinator, "coordinator")
        self.fill(fill)
        refused = self.accel("submit", "--cpu", self.script("echo started >> second", name="second.sh"))
        self.assertEqual(refused.code, 1, refused)
        self.assertIn("takes no new jobs; running jobs go on", refused.err)
        self.assertIn(FULL, refused.err)
        # The command above has tried for longer than the node timeout. No silence of the store is a node's.
        [job] = self.jobs(runs)
        self.assertEqual(job["phase"], "RUNNING", job)
        self.path("go").touch()
        fill.unlink()
        cluster.wait_until(lambda: self.jobs(runs)[0]["phase"] == "SUCCEEDED", 60, "the job's end is stored")
        self.assertEqual(self.submit("/bin/true").code, 0)
        self.assertFalse(self.path("second").exists(), "a job that was refused has run")
        self.assertEqual(self.path("first").read_text(), "started\n")


@unittest.skipUnless(can_mount(), "this user may not make a mount namespace, so no small file system can be had")
class FullAgent(SmallDisk):
    AGENTS = 2

    def start_agent(self, name, **options):
        under = self.on_small_disk(name, 4) if name == "n1" else ()
        return super().start_agent(name, under=under, **options)

    def test_the_job_goes_on_and_the_next_one_starts_on_another_node(self):
        self.accel("drain", "n2")
        runs = self.start_worker("first")
        fill = self.file(self.agents[0], "n1")
        self.fill(fill)
        # The node cannot write the record without which no shim may start.
        job = self.accel("submit", "--cpu", self.script("echo second")).out.split()[0]
        [why, *_] = cluster.wait_until(
            lambda: [each["cause"]["exit"]["message"] for each in self.jobs(job)[0]["generations"] if "cause" in each], 60,
            "the first start has failed")
        self.assertIn("No space left on device", why)
        self.accel("drain", "n2", "--undo")
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job runs on the other node")
        self.assertEqual(self.jobs(job)[0].get("failures", 0), 0)
        self.path("go").touch()
        cluster.wait_until(lambda: self.jobs(runs)[0]["phase"] == "SUCCEEDED", 60, "the first job ends")
        fill.unlink()


if __name__ == "__main__":
    cluster.main()
