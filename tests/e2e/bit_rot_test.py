"""A bit flips on the coordinator's disk: the coordinator refuses to start, or has every job that it had acknowledged. In the
last commit of the log a flipped bit looks like a write that a crash has cut off, so this commit alone may be missing."""

import re

from tests.e2e import cluster

JOBS = 6
FLIPS = 120  # In each file.


class BitRot(cluster.ClusterTest):
    AGENTS = 0  # So the jobs remain in the queue.

    def setUp(self):
        super().setUp()
        self.sizes = []  # Sizes of the log after each acknowledged submit.
        for number in range(JOBS):
            self.assertEqual(self.accel("submit", "--cpu", "/bin/true", number).code, 0)
            self.sizes.append(self.file("-wal").stat().st_size)

    def file(self, end):
        return self.path("coordinator") / f"cluster.db{end}"

    def kill_and_keep_files(self, *ends):
        self.coordinator.kill()
        self.coordinator.wait()
        self.kept = {end: self.file(end).read_bytes() for end in ends}

    def check(self, end, at, bit):
        """Returns the jobs that a coordinator finds after a bit has flipped, or None if it refuses the files."""
        for path in self.path("coordinator").glob("cluster.db*"):
            path.unlink()
        for each, data in self.kept.items():
            self.file(each).write_bytes(data)
        damaged = bytearray(self.kept[end])
        damaged[at] ^= 1 << bit
        self.file(end).write_bytes(damaged)
        result = self.run_command(cluster.COORDINATOR, "--state_dir", self.path("coordinator"), "--check")
        if result.code != 0:
            self.assertRegex(result.err, "cluster.db is damaged|is a database of another program|has version|no file")
            return None
        return int(re.search(r"(\d+) in the queue", result.out).group(1))

    def flip_all_over(self, end, least):
        """Flips bits all over a file. `least` gives the least number of jobs for each place."""
        size = len(self.kept[end])
        found = {}
        for number in range(FLIPS):
            at = number * size // FLIPS + number % 7
            jobs = found[at] = self.check(end, at, number % 8)
            if jobs is not None:
                self.assertGreaterEqual(jobs, least(at), f"byte {at} of cluster.db{end}")
        return found

    def test_in_the_log_after_a_kill(self):
        self.kill_and_keep_files("", "-wal")
        last_commit = self.sizes[-2]
        found = self.flip_all_over("-wal", lambda at: JOBS - 1)
        self.assertTrue(all(jobs is None for at, jobs in found.items() if at < last_commit), found)
        self.assertIn(JOBS - 1, [jobs for at, jobs in found.items() if at >= last_commit])

    def test_in_the_database(self):
        self.coordinator.terminate()
        self.assertEqual(self.coordinator.wait(60), 0)
        self.kept = {"": self.file("").read_bytes()}
        found = self.flip_all_over("", lambda at: JOBS)
        self.assertIn(None, found.values())


if __name__ == "__main__":
    cluster.main()
