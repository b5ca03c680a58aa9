"""Random kills of workers, shims and agents: each job ends once, as its restart budget says, and nothing is
left or leaked. The kill of an agent costs its jobs nothing.

ACCEL_CHAOS_SEED repeats a run's choices.
"""

import contextlib
import os
import pathlib
import random
import signal
import time

from tests.e2e import cluster

SECONDS = 20  # Duration of each storm.
MOST_KILLS = 3
# Maximum growth of the coordinator in the storm. In the calm after it, no daemon may grow by a quarter of this, so a
# leak of 35 KB per job is found.
MOST_GROWTH_KB = 8 << 10
QUIET_JOBS = 60

# Every rank reports that it is up, leaves a detached process behind, and waits until it is asked to stop.
WORKER = """
setsid sleep 1000 &
echo "$$ $PPID" > new.$RANK.$ACCEL_GENERATION.$1
mv new.$RANK.$ACCEL_GENERATION.$1 up.$1.$ACCEL_GENERATION.$RANK
while [ ! -e go.$1 ]; do sleep 0.02; done
"""


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory")


def kill_if_there(pid):
    """Sends SIGKILL to a process that may have ended, because the kernel wakes an orphaned stopped process group."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class KillLoop(cluster.ClusterTest):
    AGENTS = 2
    CGROUPS = {}

    def start_agent(self, name, env=None, **options):
        return super().start_agent(name, {**self.CGROUPS, **(env or {})}, **options)

    def test_random_kills(self):
        seed = int(os.environ.get("ACCEL_CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
        self.random = random.Random(seed)
        try:
            self.storm()
        except BaseException as error:
            raise AssertionError(f"ACCEL_CHAOS_SEED={seed} repeats this") from error

    def storm(self):
        # Otherwise the two classes of this file would test the same setting.
        self.assertEqual("turned off by ACCEL_CGROUP=none" in self.log("n1"), bool(self.CGROUPS))
        self.worker = self.script(WORKER)
        self.begun = [0] * self.AGENTS  # The size of each agent's log when its newest agent was started.
        self.finish_job(self.submit("--nodes", 2, "/bin/true"))  # Allocates what is allocated only once.
        memory = resident_kb(self.coordinator.pid)
        end = time.monotonic() + SECONDS
        rounds = 0
        while time.monotonic() < end or rounds < 4:
            rounds += 1
            self.round(rounds)
        print(f"{rounds} rounds")
        self.assertLess(resident_kb(self.coordinator.pid), memory + MOST_GROWTH_KB)
        self.calm()

    def round(self, number):
        kills = self.random.randint(1, MOST_KILLS)
        enough = self.random.random() < 0.7
        budget = kills if enough else kills - 1
        settled = self.is_settled()
        job = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", 2, "--processes_per_node", 2,
                         "--max_restarts", budget, "--env", f"ROUND={self.tag}.{number}.", self.worker, number)
        done = set()
        for _ in range(kills):
            # Hits either the middle of a start or a running world.
            least = max(self.random.choice([1, 4]), 1 if settled else 4)
            while not self.kill_one(number, least, done):
                # The start may have been planned again, because the agent's store socket has gone with it. What dies
                # of a generation that is over is no failure.
                least = 4
            settled = self.settled
        if enough:
            self.wait_for_world(number, 4, done)
        self.path(f"go.{number}").touch()
        result = self.finish(job)
        self.assertEqual(result.code == 0, enough, result)
        self.check_end(result, number, kills, enough)

    def wait_for_world(self, number, ranks, done):
        """Returns (pid, parent) of the ranks of the newest generation, once that many are up."""
        def found():
            files = [file.name.split(".") for file in pathlib.Path(self.dir).glob(f"up.{number}.*")]
            newest = max((int(name[2]) for name in files), default=0)
            return newest if newest not in done and sum(int(name[2]) == newest for name in files) >= ranks else 0

        generation = cluster.wait_until(found, 60, f"{ranks} ranks up in round {number} after generations {done}")
        return generation, [tuple(map(int, file.read_text().split()))
                            for file in pathlib.Path(self.dir).glob(f"up.{number}.{generation}.*")]

    def kill_one(self, number, least, done):
        """Kills something of the newest generation, once `least` of its ranks are up. Returns true if that ends the
        generation."""
        generation, ranks = self.wait_for_world(number, least, done)
        worker, shim = self.random.choice(ranks)
        victim = self.random.choice(["worker", "shim", "agent", "agent and shim"])
        if victim == "agent":
            self.restart_agent(self.random.randrange(self.AGENTS))
            return False
        done.add(generation)
        self.settled = self.is_settled() and victim != "agent and shim"
        if victim == "worker":
            os.kill(worker, signal.SIGKILL)
        elif victim == "shim":
            os.kill(shim, signal.SIGKILL)
        else:
            self.restart_agent(self.node_of(shim), before=lambda: kill_if_there(shim))
        return True

    def node_of(self, shim):
        """Returns the number of the agent to which a shim belongs. It need not be the shim's parent."""
        folder = os.readlink(f"/proc/{shim}/fd/4")
        [which] = [i for i in range(self.AGENTS) if folder.startswith(str(self.path(f"n{i + 1}")) + "/")]
        return which

    def restart_agent(self, which, before=lambda: None):
        self.agents[which].kill()
        self.agents[which].wait()
        before()
        self.begun[which] = self.path(f"n{which + 1}.log").stat().st_size
        self.agents[which] = self.start_agent(f"n{which + 1}")

    def is_settled(self):
        """Returns true if the coordinator knows the store sockets of every agent, so that what is planned from now on is
        not planned again."""
        logs = (self.path(f"n{i + 1}.log").read_bytes()[self.begun[i]:] for i in range(self.AGENTS))
        return all(b"connected to the coordinator" in log for log in logs)

    def check_end(self, result, number, kills, succeeds):
        job = self.finish_job(result)
        self.assertEqual(job["phase"], "SUCCEEDED" if succeeds else "FAILED", job)
        self.assertEqual(job["exit_code"], result.code)
        # There is one generation for each failure, and one for each start that got a store socket whose agent had died.
        self.assertEqual(job["failures"], kills, job)
        self.assertEqual(len(job["generations"]), kills + job["replans"] + succeeds, job)
        self.assertEqual(self.leftovers(0, f"ROUND={self.tag}.{number}."), [], f"left by round {number}")
        self.wait_for_nodes(self.AGENTS)
        self.left.check()

    def finish_job(self, result):
        [job] = self.jobs(result.out.split()[0])
        self.assertIn(job["phase"], ("SUCCEEDED", "FAILED"))
        self.assertEqual(self.jobs(job["job_id"]), [job], "a final phase changed")
        return job

    def daemons(self):
        return {"coordinator": self.coordinator, **{f"n{i + 1}": agent for i, agent in enumerate(self.agents)}}

    def calm(self):
        """Runs many small jobs after the storm, with which no daemon may grow much."""
        for name, process in self.daemons().items():
            self.assertIsNone(process.poll(), name)
        # An agent that was started last has not yet allocated what it allocates only once.
        self.finish_job(self.submit("--nodes", 2, "/bin/true"))
        before = {name: resident_kb(process.pid) for name, process in self.daemons().items()}
        for _ in range(QUIET_JOBS):
            result = self.submit("--nodes", 2, "/bin/true")
            self.assertEqual(result.code, 0, result)
        for name, process in self.daemons().items():
            self.assertLess(resident_kb(process.pid), before[name] + MOST_GROWTH_KB // 4, name)
        self.left.check()


class KillLoopWithoutCgroups(KillLoop):
    """The same without control groups."""

    CGROUPS = {"ACCEL_CGROUP": "none"}


if __name__ == "__main__":
    cluster.main()
