"""A storm of random kills and stops over the workers, shims, agents and the coordinator of a test's cluster.

The storm is one loop without threads. It keeps short jobs running, carries out a schedule that a seed determines,
starts each killed daemon again, as a supervisor would, and measures how long each recovery takes. Workers write the
history (tests/e2e/history.py) which says at the end whether a job was lost or ran twice.
"""

import collections
import contextlib
import os
import pathlib
import random
import signal
import statistics
import time

from tests.e2e import cluster, history

# A rank holds its lock through its own descriptor and those of all processes that it starts, also the one that escapes.
# The last line is written in the shell, without a process, so a rank that has ended well is killed only in its exit.
WORKER = """
exec 9>>"locks/$SUBMIT.${RANK:-0}"
me="$SUBMIT $ACCEL_JOB_ID $ACCEL_GENERATION ${RANK:-0}"
flock --nonblock 9 || echo "shared $me" >> history
echo "started $me $$ $PPID" >> history
setsid sleep 1000 &
sleep "$1"
echo "ended $me" >> history
"""

JOBS = 10  # Unfinished jobs that may be hit, at any time during the storm.
# A job is hit no more often than this. Otherwise the pauses before restarts grow up to a minute, the storm waits for
# victims, and hits the few jobs that run again and again.
MOST_HITS = 3
KILLS = {"worker": 8, "shim": 5, "agent": 5, "coordinator": 4}  # Relative frequencies.
STOPS = {"worker": 1, "shim": 1, "agent": 1, "coordinator": 1}
# Longest absence of a daemon, whether killed or stopped. Most are short, because a supervisor starts a daemon again
# immediately. The node timeout is far above it: a node that is lost may run
# its jobs next to their next generation until it is back, and this storm accepts no such time.
MOST_ABSENCE = 1.5
NODE_TIMEOUT = 15
MEAN_PAUSE = 0.12  # Between two events, in seconds.
# The phases of ended jobs are recorded after this many submits, because the coordinator keeps only the newest 1,000.
RECORDED_AFTER = 400

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED")

Event = collections.namedtuple("Event", "pause kind stops choice seconds")


def schedule(seed, kills):
    """Returns events, `kills` of which are kills."""
    dice = random.Random(seed)
    kinds = [(kind, stops) for stops, weights in ((False, KILLS), (True, STOPS)) for kind in weights]
    weights = [*KILLS.values(), *STOPS.values()]
    events = []
    while sum(not event.stops for event in events) < kills:
        [(kind, stops)] = dice.choices(kinds, weights)
        events.append(Event(dice.expovariate(1 / MEAN_PAUSE), kind, stops, dice.random(), dice.random() ** 3 * MOST_ABSENCE))
    return events


def medians(seconds):
    """Returns the median of each kind's times."""
    return {kind: statistics.median(values) for kind, values in seconds.items() if values}


def send(pid, number):
    """Sends a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Storm:
    """Runs on a ClusterTest, whose agents and coordinator it replaces as they are killed."""

    def __init__(self, test, seed, kills):
        self._test = test
        self._dice = random.Random(f"jobs of {seed}")
        self._events = schedule(seed, kills)
        self._worker = test.script(WORKER, "storm_worker.sh")
        test.path("locks").mkdir()
        self._written = open(test.path("history"), "a")
        self._read = open(test.path("history"))
        self._unread = ""
        self.history = history.History()
        self._submits = {}  # The processes of `accel submit` that run, by number.
        self._submitted = 0
        self._recorded = 0  # The value of _submitted when the phases were recorded.
        self._ranks = {}  # By the number of the submit.
        self._later = []  # (time, function), in no order.
        self._away = set()  # Daemons that are killed or stopped now.
        # (kind, time of the kill or of a daemon's new start, function that returns true once it has recovered)
        self._recovering = []
        self.recovery_seconds = collections.defaultdict(list)
        self.count = collections.Counter()

    def run(self):
        """Returns once all events have happened and every job is over."""
        for event in self._events:
            due = time.monotonic() + event.pause
            cluster.wait_until(lambda: self._step() and time.monotonic() >= due and self._carry_out(event), 120,
                               f"a victim of {event}")
            self.count[("stopped " if event.stops else "killed ") + event.kind] += 1
        self._events = []
        cluster.wait_until(lambda: self._step() and not self._later and not self._submits and not self._away, 120,
                           "the daemons are back and every submit is acknowledged")
        self._test.wait_for_nodes(len(self._test.agents))
        cluster.wait_until(self._all_over, 120, "all jobs end")
        self._record_phases()
        self._written.close()
        self._read.close()

    def _all_over(self):
        self._step()
        return all(job["phase"] in FINAL for job in self._test.jobs())

    def _record_phases(self):
        """Records the jobs that have ended, also those that have ended in another way than before."""
        for job in self._test.jobs():
            if job["phase"] in FINAL and job["phase"] != self.history.jobs[job["job_id"]].phase:
                self._write(f"finished {job['job_id']} {job['phase']}")
        self._read_history()
        self._recorded = self._submitted

    def _step(self):
        """Does what is due. Returns true."""
        now = time.monotonic()
        for due in [each for each in self._later if each[0] <= now]:
            self._later.remove(due)
            due[1]()
        self._read_history()
        for each in [each for each in self._recovering if each[2]()]:
            self._recovering.remove(each)
            self.recovery_seconds[each[0]].append(now - each[1])
        self._collect_submits()
        if self._events:
            self._submit_more()
        if self._submitted >= self._recorded + RECORDED_AFTER and "coordinator" not in self._away:
            self._record_phases()
        return True

    def _write(self, line):
        self._written.write(line + "\n")
        self._written.flush()

    def _read_history(self):
        *lines, self._unread = (self._unread + self._read.read()).split("\n")
        for line in lines:
            self.history.add(line)

    # Jobs.

    def _victims(self):
        """Returns the number of jobs that may be hit, now or as soon as they run."""
        jobs = self.history.jobs.values()
        return len(self._submits) + sum(len(job.hit) < MOST_HITS and not self._has_ended(job) for job in jobs)

    @staticmethod
    def _has_ended(job):
        return bool(job.started) and len(job.ended[max(job.started)]) == job.ranks

    def _submit_more(self):
        while self._victims() < JOBS:
            self._submitted += 1
            nodes, processes = self._dice.choice([(1, 1), (1, 2), (2, 1), (2, 2)])
            self._ranks[self._submitted] = nodes * processes
            self._submits[self._submitted] = self._test.start(
                cluster.ACCEL, "submit", "--cpu", "--nodes", nodes, "--processes_per_node", processes, "--max_restarts", 1000,
                "--env", f"SUBMIT={self._submitted}", self._worker, f"{self._dice.uniform(0.1, 1):.2f}")

    def _collect_submits(self):
        for number, process in list(self._submits.items()):
            if process.poll() is not None:
                del self._submits[number]
                self._test.processes.remove(process)
                result = self._test.finish(process)
                self._test.assertEqual(result.code, 0, result)
                self._write(f"accepted {number} {result.out.split()[0]} {self._ranks[number]}")

    # Events.

    def _carry_out(self, event):
        """Returns false if there is no victim now."""
        if event.kind == "coordinator":
            return self._daemon("coordinator", event)
        if event.kind == "agent":
            return self._daemon(int(event.choice * len(self._test.agents)), event)
        pids = sorted(pid for pid, (job, generation, _, shim) in self.history.pids.items()
                      if len(self.history.jobs[job].hit) < MOST_HITS and self._is_rank(pid, job, generation, shim))
        if not pids:
            return False
        pid = pids[int(event.choice * len(pids))]
        job, generation, _, shim = self.history.pids[pid]
        victim = pid if event.kind == "worker" else shim
        if event.stops:
            try:
                os.kill(victim, signal.SIGSTOP)
            except ProcessLookupError:  # It has ended since it was looked up.
                return False
            self._after(event.seconds, lambda: send(victim, signal.SIGCONT))
        else:
            self._kill(victim, job, generation, event.kind)
        return True

    @staticmethod
    def _is_rank(pid, job, generation, shim):
        """Returns false if one of these pids belongs to another process by now."""
        try:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            is_child = cluster.is_alive(pid) and cluster.parent_of(pid) == shim
        except OSError:
            return False
        return is_child and {f"ACCEL_JOB_ID={job}".encode(), f"ACCEL_GENERATION={generation}".encode()} <= set(variables)

    def _kill(self, pid, job, generation, kind):
        self._write(f"hit {job} {generation}")
        send(pid, signal.SIGKILL)
        killed = time.monotonic()
        cluster.wait_until(lambda: not cluster.is_alive(pid), 60, f"{kind} {pid} is dead")
        self._read_history()
        started = self.history.jobs[job].started
        # The job may have restarted meanwhile, because of an earlier kill.
        self._write(f"hit {job} {max(started)}")
        hit = max(started)
        if len(self.history.jobs[job].ended[hit]) < len(started[hit]):
            self._recovering.append((kind, killed, lambda: max(started) > hit))

    def _after(self, seconds, function):
        self._later.append((time.monotonic() + seconds, function))

    def _daemon(self, which, event):
        if which in self._away:
            return False
        self._away.add(which)
        process = self._test.coordinator if which == "coordinator" else self._test.agents[which]
        self._test.assertIsNone(process.poll(), f"{event.kind} ended by itself")
        if event.stops:
            process.send_signal(signal.SIGSTOP)
            self._after(event.seconds, lambda: (process.send_signal(signal.SIGCONT), self._away.discard(which)))
            return True
        process.kill()
        process.wait()
        self._test.processes.remove(process)
        start = self._start_coordinator if which == "coordinator" else lambda: self._start_agent(which)
        self._after(event.seconds, start)
        return True

    def _start_coordinator(self):
        begin = time.monotonic()
        self._test.start_coordinator("--node_timeout", str(NODE_TIMEOUT), listen=self._test.env["ACCEL_COORDINATOR"])
        served = self._test.start(cluster.ACCEL, "nodes")
        self._away.discard("coordinator")

        def is_back():
            if served.poll() is None:
                return False
            self._test.processes.remove(served)
            cluster.close_pipes(served)
            return True

        self._recovering.append(("coordinator", begin, is_back))

    def _start_agent(self, which):
        begin = time.monotonic()
        log = self._test.path(f"n{which + 1}.log")
        size = log.stat().st_size
        self._test.agents[which] = self._test.start_agent(f"n{which + 1}")
        self._away.discard(which)

        def connected():
            with open(log, "rb") as file:
                file.seek(size)
                return b"connected to the coordinator" in file.read()

        self._recovering.append(("agent", begin, connected))

    def summary(self):
        violations = self.history.violations()
        kinds = collections.Counter(each.kind for each in violations)
        return {
            "events": dict(self.count),
            "kills": sum(count for what, count in self.count.items() if what.startswith("killed")),
            "jobs": len(self.history.jobs),
            "generations": sum(len(job.started) for job in self.history.jobs.values()),
            **{kind: kinds[kind] for kind in (history.ORPHAN, history.LOST, history.TWICE, history.DISTURBED)},
            "violations": [each.text for each in violations],
            "recovery_seconds": {kind: [round(each, 4) for each in values] for kind, values in self.recovery_seconds.items()},
        }
