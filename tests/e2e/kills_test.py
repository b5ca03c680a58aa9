"""500 random kills of workers, shims, agents and the coordinator: no job is lost, none runs twice, nothing is left.

  --seed N       repeats the choices of a run
  --kills N      the number of kills
  --result FILE  writes the summary to FILE as JSON

`bench/run kills` runs this program many times.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import sys

from tests.e2e import cluster, kill_storm

_PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
_PARSER.add_argument("--seed", type=int, default=None)
_PARSER.add_argument("--kills", type=int, default=500)
_PARSER.add_argument("--result", type=pathlib.Path)
options = argparse.Namespace(seed=None, kills=500, result=None)


def left(test, seconds=30):
    """Returns (pid, name) of each process that is left after this time. The end of the test kills them."""
    found = []
    for pid in test.leftovers(seconds) + test.shims(seconds):
        try:
            found.append((pid, pathlib.Path(f"/proc/{pid}/comm").read_text().strip().replace(" ", "_")))
        except OSError:
            pass
    return found


class Instruments(cluster.Test):
    def test_a_rank_that_runs_twice_and_processes_that_are_left_are_found(self):
        self.path("locks").mkdir()
        worker = self.script(kill_storm.WORKER)
        ranks = []
        for generation in ("1", "2"):
            environment = {"SUBMIT": "1", "ACCEL_JOB_ID": "a", "ACCEL_GENERATION": generation}
            ranks.append(self.start(worker, 60, env=environment))
            cluster.wait_until(lambda: sum(map(cluster.is_sleeping, self.leftovers(0))) == 2 * len(ranks), 60,
                               "both children of the shell sleep")
        for rank in ranks:
            rank.kill()
            rank.wait()
        self.assertIn("shared 1 a 2 0", self.path("history").read_text())
        found = left(self, seconds=0)
        self.assertEqual([name for _, name in found], 4 * ["sleep"])
        for pid, _ in found:
            os.kill(pid, signal.SIGKILL)


class Kills(cluster.ClusterTest):
    AGENTS = 3

    def start_coordinator(self, *flags, **others):
        super().start_coordinator(*(flags or ("--node_timeout", str(kill_storm.NODE_TIMEOUT))), **others)

    def start_agent(self, name, **others):
        """Starts an agent. One of them has no control groups, so it finds what a shim has left by other means."""
        return super().start_agent(name, env={"ACCEL_CGROUP": "none"} if name == "n3" else {}, **others)

    def test_random_kills(self):
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        print(f"--seed={seed} --kills={options.kills} repeats this", flush=True)
        storm = kill_storm.Storm(self, seed, options.kills)
        storm.run()
        self.left.check()
        self.stop_daemons()
        for pid, name in left(self):
            storm.history.add(f"orphan {pid} {name}")
        summary = {"seed": seed, **storm.summary()}
        print(json.dumps({**summary, "recovery_seconds": kill_storm.medians(summary["recovery_seconds"])}), flush=True)
        if options.result:
            self.write_result(summary)
        self.assertEqual(summary["violations"], [])
        self.assertEqual(summary["kills"], options.kills)

    def stop_daemons(self):
        for process in (*self.agents, self.coordinator):
            process.terminate()
        for process in (*self.agents, self.coordinator):
            self.assertEqual(process.wait(60), 0)

    @staticmethod
    def write_result(summary):
        new = options.result.with_suffix(".new")
        new.write_text(json.dumps(summary) + "\n")
        new.rename(options.result)


def end_after_a_signal(number, _):
    """An error of the test, because after a KeyboardInterrupt unittest would leave the cluster running."""
    raise AssertionError(f"interrupted by signal {number}")


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end_after_a_signal)
    options, rest = _PARSER.parse_known_args()
    sys.argv[1:] = rest
    cluster.main()
