"""The shards of a test: with `shard_count` in BUILD.bazel, Bazel runs its cases in several processes at the same time."""

import itertools
import os
import pathlib
import unittest


class Loader(unittest.TestLoader):
    """Loads the cases of this shard, or all of them without shards."""

    def __init__(self):
        super().__init__()
        self._shards = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
        self._shard = int(os.environ.get("TEST_SHARD_INDEX", "0"))
        self._numbers = itertools.count()
        if file := os.environ.get("TEST_SHARD_STATUS_FILE"):
            pathlib.Path(file).touch()  # This tells Bazel that the shards differ.

    def getTestCaseNames(self, testCaseClass):
        # The shards get the cases of all classes in turn, so that the long cases of one class are in different shards.
        return [name for name in super().getTestCaseNames(testCaseClass) if next(self._numbers) % self._shards == self._shard]
