"""The history of the jobs of a test, and its checker.

Workers and the test append to one file. Each line is one write, so the order of the lines is the order of the events:

  accepted SUBMIT JOB RANKS                      the coordinator has acknowledged a submit
  started SUBMIT JOB GENERATION RANK PID SHIM    a rank begins; it has its lock, or writes `shared` before
  shared SUBMIT JOB GENERATION RANK              a process of an earlier incarnation of this rank still has its lock
  ended SUBMIT JOB GENERATION RANK               a rank has done its work and is about to exit with 0
  hit JOB GENERATION                             the test kills a process of this generation
  finished JOB PHASE                             the final phase, as the coordinator reports it
  orphan PID NAME                                a process that is left at the end

A rank holds a lock (flock) for as long as any process lives that it has started, so `shared` is exact.
"""

import collections

LOST = "lost"  # An acknowledged job did not run to its end.
TWICE = "twice"  # A job, a generation or a rank ran twice: at the same time, or again after its success.
DISTURBED = "disturbed"  # A generation was replaced although no process of it was killed.
ORPHAN = "orphan"

Violation = collections.namedtuple("Violation", "kind text")


class _Job:
    def __init__(self):
        self.submit = None
        self.ranks = None  # Unknown before its submit is acknowledged.
        self.started = {}  # The ranks that started, by generation.
        self.ended = collections.defaultdict(set)
        self.hit = set()
        self.phase = None


class History:
    """Reads lines and finds each violation. Not thread-safe."""

    def __init__(self):
        self.jobs = collections.defaultdict(_Job)
        self.pids = {}  # (job, generation, rank, shim) by pid, of the ranks that have started and not ended.
        self._job_of_submit = {}
        self._found = []

    def add(self, line):
        word, *values = line.split()
        getattr(self, "_" + word)(*values)

    def violations(self):
        """Returns all violations, once everything has ended."""
        return self._found + [each for name, job in self.jobs.items() for each in self._of_job(name, job)]

    def _report(self, kind, text):
        self._found.append(Violation(kind, text))

    def _belongs(self, submit, name):
        job = self.jobs[name]
        if job.submit is None and self._job_of_submit.setdefault(submit, name) != name:
            self._report(TWICE, f"submit {submit} became two jobs: {self._job_of_submit[submit]} and {name}")
        job.submit = submit
        return job

    def _accepted(self, submit, name, ranks):
        self._belongs(submit, name).ranks = int(ranks)

    def _started(self, submit, name, generation, rank, pid, shim):
        job = self._belongs(submit, name)
        generation, rank = int(generation), int(rank)
        if job.phase:
            self._report(TWICE, f"job {name}: rank {rank} of generation {generation} started after {job.phase}")
        if generation < max(job.started, default=0):
            self._report(TWICE, f"job {name}: generation {generation} started after a later one")
        ranks = job.started.setdefault(generation, set())
        if rank in ranks:
            self._report(TWICE, f"job {name}: rank {rank} of generation {generation} started twice")
        ranks.add(rank)
        self.pids[int(pid)] = (name, generation, rank, int(shim))

    def _shared(self, submit, name, generation, rank):
        self._report(TWICE, f"job {name}: rank {rank} of generation {generation} ran next to an earlier one")

    def _ended(self, submit, name, generation, rank):
        self.jobs[name].ended[int(generation)].add(int(rank))
        self.pids = {pid: of for pid, of in self.pids.items() if of[:3] != (name, int(generation), int(rank))}

    def _hit(self, name, generation):
        self.jobs[name].hit.add(int(generation))

    def _finished(self, name, phase):
        job = self.jobs[name]
        if job.phase:
            self._report(TWICE, f"job {name} finished twice: {job.phase} and {phase}")
        job.phase = phase

    def _orphan(self, pid, command):
        self._report(ORPHAN, f"process {pid} ({command}) is left")

    @staticmethod
    def _of_job(name, job):
        if job.phase != "SUCCEEDED":
            yield Violation(LOST, f"job {name} of submit {job.submit}: its phase is {job.phase}")
        if job.ranks is None:
            return  # Its submit was never acknowledged, so it need not have run.
        whole = set(range(job.ranks))
        generations = sorted(job.started)
        for generation in generations:
            if job.started[generation] - whole:
                yield Violation(TWICE, f"job {name}: generation {generation} had the ranks {sorted(job.started[generation])}")
        for generation in generations[:-1]:
            if generation in job.hit or job.started[generation] != whole:
                continue
            if job.ended[generation] == whole:
                yield Violation(TWICE, f"job {name}: it ran again after generation {generation} had ended well")
            else:
                yield Violation(DISTURBED, f"job {name}: generation {generation} was replaced, and nothing of it was killed")
        last = generations[-1] if generations else 0
        if job.phase == "SUCCEEDED" and job.ended[last] != whole:
            yield Violation(LOST, f"job {name}: of generation {last}, only the ranks {sorted(job.ended[last])} ended well")
