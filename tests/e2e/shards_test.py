import os
import tempfile
import unittest
from unittest import mock

from tests.e2e import shards


class Short(unittest.TestCase):
    def test_one(self):
        pass


class Long(unittest.TestCase):
    def test_one(self):
        pass

    def test_three(self):
        pass

    def test_two(self):
        pass


def loaded(environment):
    """Returns the names of the cases that a process with these variables loads."""
    with mock.patch.dict(os.environ, environment):
        loader = shards.Loader()
    return [case.id() for cases in map(loader.loadTestsFromTestCase, (Long, Short)) for case in cases]


class Shards(unittest.TestCase):
    def test_each_case_is_in_one_shard(self):
        with tempfile.TemporaryDirectory() as folder:
            parts = []
            for shard in range(3):
                status = os.path.join(folder, str(shard))
                parts.append(loaded({"TEST_TOTAL_SHARDS": "3", "TEST_SHARD_INDEX": str(shard),
                                     "TEST_SHARD_STATUS_FILE": status}))
                self.assertTrue(os.path.exists(status), "Bazel must know that the shards differ")
        self.assertEqual(sorted(len(part) for part in parts), [1, 1, 2])
        self.assertEqual(sorted(sum(parts, [])), sorted(loaded({})))

    def test_without_shards_all_cases_are_loaded(self):
        self.assertEqual(len(loaded({})), 4)


if __name__ == "__main__":
    unittest.main()
