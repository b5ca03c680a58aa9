"""Processes of workers that do not end in the usual way: zombies, and workers that ignore SIGTERM. What a fault costs is read
from the record of the job where the record has it, because a loaded machine may keep the test itself from running."""

import pathlib
import time

from tests.e2e import cluster

CHILDREN = 50
# Each child forks a process, which ends as an orphan, and ends too. The worker waits for none of them.
FORKS = f"""
import os, pathlib, signal
lines = []
for _ in range({CHILDREN}):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild:
            os.write(write, str(grandchild).encode())
        os._exit(0)
    lines.append(f"{{child}} {{os.read(read, 20).decode()}}")
    os.close(read)
    os.close(write)
pathlib.Path("new").write_text("\\n".join(lines))
os.rename("new", "pids")
signal.pause()
"""


class Zombies(cluster.ClusterTest):
    def test_orphans_are_reaped_while_the_worker_runs_and_its_children_after_it(self):
        job = self.accel("submit", "--cpu", "--python", "/usr/bin/python3", self.python(FORKS)).out.split()[0]
        pids = [line.split() for line in self.wait_for_file("pids").splitlines()]
        children, orphans = zip(*pids)
        self.assertEqual(len(children), CHILDREN)
        begin = time.monotonic()
        cluster.wait_until(lambda: not self.exist(orphans), 10, "the shim has reaped the orphans")
        print(f"the orphans were reaped after {time.monotonic() - begin:.3f} s at most")
        # Their parent lives, so only it could reap them.
        self.assertEqual(len(self.exist(children)), CHILDREN)
        self.accel("cancel", "--now", job)
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "CANCELLED", 60, "CANCELLED")
        self.assertEqual(self.exist(children), [], "zombies of a job that is over")

    @staticmethod
    def exist(pids):
        """Returns the processes that run or are zombies."""
        return [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]


class Grace(cluster.ClusterTest):
    GRACE_MS = 5000  # After a failure.
    MOST_MS = 5000  # What a loaded machine may add.

    def test_a_worker_that_ignores_term_lives_as_long_as_the_grace(self):
        worker = self.script("if [ $RANK = 0 ]; then until [ -e stubborn ]; do sleep 0.02; done; exit 6; fi\n"
                             "trap '' TERM; touch stubborn; while :; do sleep 0.1; done")
        result = self.submit("--processes_per_node", 2, worker)
        self.assertEqual(result.code, 6, result)
        [job] = self.jobs(result.out.split()[0])
        [generation] = job["generations"]
        self.assertEqual(generation["cause"]["rank"], 0)
        took = int(generation["ended_unix_ms"]) - int(generation["cause"]["failed_unix_ms"])
        print(f"the generation ended {took} ms after its failure")
        # The failure is known some milliseconds after the grace has begun.
        self.assertTrue(self.GRACE_MS - 500 <= took <= self.GRACE_MS + self.MOST_MS, took)


if __name__ == "__main__":
    cluster.main()
