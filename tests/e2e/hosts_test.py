"""A test of hosts is skipped only where the machine has no network namespaces."""

import subprocess
import unittest
from unittest import mock

from tests.e2e import hosts


class Skips(unittest.TestCase):
    def why_not(self, works, uid):
        """Returns the answer on a machine where `works` decides which commands of unshare succeed."""
        def run(command, **_):
            return subprocess.CompletedProcess(command, 0 if works(command) else 1, stderr=b"not permitted\n")

        with mock.patch("subprocess.run", run), mock.patch("os.geteuid", lambda: uid):
            return hosts.why_not()

    def test_namespaces_that_work_are_used(self):
        self.assertIsNone(self.why_not(lambda command: True, uid=1000))

    def test_a_machine_without_namespaces_is_a_reason(self):
        for uid in (0, 1000):
            self.assertEqual(self.why_not(lambda command: False, uid), "no network namespaces here: not permitted")

    def test_root_who_has_them_without_a_user_namespace_skips_nothing(self):
        with self.assertRaisesRegex(AssertionError, "has network namespaces.*not permitted"):
            self.why_not(lambda command: "--user" not in command, uid=0)

    def test_a_user_is_refused_what_root_may_do(self):
        self.assertEqual(self.why_not(lambda command: "--user" not in command, uid=1000),
                         "no network namespaces here: not permitted")


if __name__ == "__main__":
    unittest.main()
