"""Programs that travel with their jobs: `accel submit --upload`."""

import os
import pathlib
import re
import shutil
import time
import unittest

from tests.e2e import cluster

WEEK = 7 * 24 * 3600


class Upload(cluster.ClusterTest):
    AGENTS = 0  # Each test starts its own.

    def setUp(self):
        super().setUp()
        self.project = self.path("project")
        (self.project / "data").mkdir(parents=True)
        (self.project / "data/words.txt").write_text("a b c\n")
        (self.project / "vocab").symlink_to("data/words.txt")
        run = self.project / "run.sh"
        run.write_text('#!/bin/sh\necho "$RANK $(cat vocab) $*"\n')
        run.chmod(0o700)

    def start_agents(self, count):
        self.agents = [self.start_agent(f"n{i + 1}") for i in range(count)]
        self.wait_for_nodes(count)

    def upload(self, *arguments, **options):
        return self.accel("submit", "--cpu", "--upload", self.project, *arguments, **options)

    def wait_for_end(self, job):
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] in ("SUCCEEDED", "FAILED"), 60, "the job has ended")
        return self.jobs(job)[0]

    def blobs(self, folder):
        return {path.name for path in self.path(folder).rglob("*") if path.is_file() and len(path.name) == 64}

    def test_two_nodes_run_what_only_the_submitter_had(self):
        result = self.upload("--nodes", "2", "run.sh", "--lr", "3")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.err, "accel: uploaded 2 of 3 files (0.0 MiB)\n")
        shutil.rmtree(self.project)
        self.start_agents(2)
        job = self.wait_for_end(result.out.strip())
        self.assertEqual(job["phase"], "SUCCEEDED", job)
        for rank in ("0", "1"):
            self.assertEqual(self.accel("logs", job["job_id"], "--rank", rank).out, f"{rank} a b c --lr 3\n")
        for node in ("n1", "n2"):
            code = self.path(f"{node}/jobs/{job['job_id']}/code")
            self.assertEqual(os.readlink(code / "vocab"), "data/words.txt")
            self.assertEqual((code / "run.sh").stat().st_mode & 0o7777, 0o755)
            self.assertEqual((code / "data/words.txt").stat().st_mode & 0o7777, 0o644)
            self.assertEqual(code.parent.stat().st_mode & 0o7777, 0o700)
            self.assertEqual(self.path(f"{node}/uploads").stat().st_mode & 0o7777, 0o700)

    @unittest.skipUnless(cluster.can_be_ordinary(), "no user namespaces here")
    def test_an_agent_that_is_not_root_runs_it(self):
        self.agents = [self.start_agent("n1", under=cluster.AS_ORDINARY)]
        self.wait_for_nodes(1)
        result = self.upload("--wait", "run.sh")
        self.assertEqual(result.code, 0, result)
        self.assertIn("where the agent is not root", self.accel("nodes").out)
        self.assertEqual(self.accel("logs", result.out.strip()).out, " a b c \n")

    def test_only_what_has_changed_travels_again(self):
        self.start_agents(1)
        self.assertEqual(self.upload("--wait", "run.sh").code, 0)
        before = (self.blobs("coordinator/blobs"), self.blobs("n1/uploads"))
        self.assertEqual(len(before[0]), 3, "two files and the manifest")
        result = self.upload("--wait", "run.sh")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.err, "accel: uploaded nothing, because the coordinator has all 3 files\n")
        self.assertEqual((self.blobs("coordinator/blobs"), self.blobs("n1/uploads")), before)
        (self.project / "data/words.txt").write_text("d\n")
        result = self.upload("--wait", "run.sh")
        self.assertIn("uploaded 1 of 3 files", result.err)
        self.assertEqual(self.accel("logs", result.out.strip()).out, " d \n")
        self.assertEqual(len(self.blobs("n1/uploads") - before[1]), 2, "the file and the manifest")

    def test_a_program_is_found_in_the_upload(self):
        self.start_agents(1)
        (self.project / "show.py").write_text("import sys, os\nprint(sys.argv[1:], open('vocab').read().strip())\n")
        (self.project / "tool").mkdir()
        (self.project / "tool/__main__.py").write_text("print('module')\n")
        for program, out in ((("show.py", "x"), "['x'] a b c\n"), (("project/show.py",), "[] a b c\n"),
                             ((self.project / "show.py",), "[] a b c\n"), (("-m", "tool"), "module\n"),
                             (("project/run.sh",), " a b c \n"), (("cat", "vocab"), "a b c\n")):
            with self.subTest(program):
                result = self.upload("--wait", *program)
                self.assertEqual(result.code, 0, result)
                self.assertEqual(self.accel("logs", result.out.strip()).out, out)
        one = self.accel("submit", "--cpu", "--wait", "--upload", self.project / "run.sh", "cat", "run.sh")
        self.assertEqual(one.code, 0, one)
        result = self.upload("nothing.py")
        self.assertEqual(result.code, 2, result)
        self.assertIn("nothing.py is not in the upload of", result.err)
        self.assertEqual(self.upload("--workdir", "/", "run.sh").code, 2)

    def test_what_cannot_travel_is_refused_before_anything_is_sent(self):
        (self.project / "out").symlink_to("../..")
        result = self.upload("run.sh")
        self.assertEqual(result.code, 2, result)
        self.assertIn("out cannot be uploaded: it is a link that leads, or may lead, out of the upload", result.err)
        (self.project / "out").unlink()
        with open(self.project / "big", "wb") as big:
            big.truncate((2 << 30) + 1)
        before = os.times()
        result = self.upload("run.sh")
        after = os.times()
        self.assertEqual(result.code, 1, result)
        self.assertIn("big alone has 2048 MiB", result.err)
        # Nothing of the file is read. On a busy machine, wall time says little.
        self.assertLess(after.children_user + after.children_system - before.children_user - before.children_system, 1)
        os.mkfifo(self.project / "pipe")
        (self.project / ".accelignore").write_text("big\n")
        self.assertIn("pipe cannot be uploaded", self.upload("run.sh").err)
        (self.project / ".accelignore").write_text("big\npipe\n")
        (self.project / ".git").mkdir()
        (self.project / "env").mkdir()
        (self.project / "env/pyvenv.cfg").touch()
        self.assertEqual(self.blobs("coordinator/blobs"), set())
        result = self.upload("run.sh")
        self.assertEqual(result.code, 0, result)
        self.assertIn("; left out: .git/, big, env/, pipe\n", result.err)

    def test_what_no_job_names_is_removed_after_a_week(self):
        result = self.upload("run.sh")
        (self.project / "data/words.txt").write_text("d\n")
        refused = self.upload("--name", "x" * 129, "run.sh")
        self.assertEqual(refused.code, 2, refused)
        self.assertEqual(len(self.blobs("coordinator/blobs")), 5)
        for path in self.path("coordinator/blobs").rglob("*"):
            os.utime(path, (time.time() - WEEK - 3600,) * 2)
        self.coordinator.terminate()
        self.coordinator.wait()
        self.start_coordinator()
        cluster.wait_until(lambda: len(self.blobs("coordinator/blobs")) == 3, 60, "the others are gone")
        self.start_agents(1)
        self.assertEqual(self.wait_for_end(result.out.strip())["phase"], "SUCCEEDED")

    def test_a_fetch_that_fails_is_the_nodes_failure(self):
        result = self.upload("run.sh")
        for path in self.path("coordinator/blobs").rglob("*"):
            if path.is_file() and path.read_text() == "a b c\n":
                path.write_text("a b d\n")
        self.start_agents(1)
        job = result.out.strip()
        cluster.wait_until(lambda: re.search("upload did not arrive.*has the hash", self.accel("status", job).out, re.DOTALL), 60, "the node says why")
        self.assertEqual(self.jobs(job)[0]["failures"], 0)


if __name__ == "__main__":
    cluster.main()
