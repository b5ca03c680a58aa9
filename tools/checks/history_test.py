import os
import subprocess
import tempfile
import unittest
from unittest import mock

from tools.checks import history
from tools.checks.history import Commit, faults


class Faults(unittest.TestCase):
    def test_a_subject_that_says_what_is_true_and_a_body(self):
        self.assertEqual(faults([Commit("1", "shim: formats of logs are fixed for a job's life", "Because."),
                                 Commit("2", "a" * 72, "Because.")]), [])

    def test_faults(self):
        for subject in ("wip", "WIP.", "shim: wip", "format", "runtime: format", "fixup! shim: x", "so far", "docs: fixup 2"):
            self.assertEqual(faults([Commit("1", subject, "Because.")]), [f"1 {subject}: does not say what is now true"])
        self.assertEqual(faults([Commit("1", "a: b", " \n")]), ["1 a: b: no body"])
        self.assertEqual(faults([Commit("1", "a" * 73, "b")]), [f"1 {'a' * 73}: 73 characters"])


class Commits(unittest.TestCase):
    def git(self, *arguments):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.folder,
                              check=True, capture_output=True, text=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
        return done.stdout.strip()

    def test_those_after_the_first(self):
        with tempfile.TemporaryDirectory() as self.folder:
            self.git("init", "-q")
            self.git("commit", "-q", "--allow-empty", "-m", "first")
            first = self.git("rev-parse", "HEAD")
            self.git("commit", "-q", "--allow-empty", "-m", "second", "-m", "a body\nof two lines")
            self.git("commit", "-q", "--allow-empty", "-m", "third")
            with mock.patch.object(history, "BEGINS_AFTER", first):
                found = history.commits(self.folder)
            self.assertEqual([(commit.subject, commit.body.strip()) for commit in found],
                             [("third", ""), ("second", "a body\nof two lines")])

    def test_a_history_without_the_first_has_none(self):
        with tempfile.TemporaryDirectory() as self.folder:
            self.git("init", "-q")
            self.git("commit", "-q", "--allow-empty", "-m", "other")
            self.assertEqual(history.commits(self.folder), [])


if __name__ == "__main__":
    unittest.main()
