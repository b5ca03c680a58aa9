"""What must hold at the end of a test with a cluster, whatever faults it has made. The daemons that still run are looked
at, after all jobs are over and all clients have ended:

* each job has a sound record (job_records.py), and its final phase was never another one;
* the coordinator has a connection for each living agent at most, and an agent has one connection at most;
* no daemon has open what was not open when the nodes were first connected;
* an agent has no record of a shim, and no control group.

An agent is looked at if the coordinator is connected with it. An agent without a coordinator keeps what it must report.
"""

import glob
import json
import os
import pathlib
import signal
import subprocess

from tests.e2e import descriptors, job_records, waiting

# An agent's flag --store_sockets: so many at each of its addresses.
_SPARES = 4
_HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory")


def groups(agent, node):
    """Returns the control groups that an agent (a pid) has made and not removed. Their names end with the id of its node."""
    found = []
    for line in pathlib.Path(f"/proc/{agent}/cgroup").read_text().splitlines():
        place = line.split(":", 2)[2].rstrip("/")
        for parent in {place, place.rpartition("/")[0]}:
            found += [path for mount in _HIERARCHIES for path in glob.glob(f"{mount}{parent}/accel/*-{node}")]
    return sorted(set(found))


class Left:
    """Looks at the processes that a test has started. `coordinator` and `agent` are the paths of programs."""

    def __init__(self, test, coordinator, agent):
        self._test = test
        self._coordinator, self._agent = coordinator, agent
        self.seconds = 60  # What is left may end within this time.
        self._idle = {}  # The kinds of descriptors of each program that had no job yet.
        self._final = {}  # Phase and exit code of each job that was over, as first seen.

    def note_idle(self):
        """Keeps what the daemons have open now as what an idle daemon has open."""
        if os.geteuid() == 0:
            for program, process in self._daemons():
                self._idle.setdefault(program, descriptors.kinds(process.pid))

    def note_jobs(self, jobs):
        """Fails if the final phase of a job has changed since an earlier call."""
        for job in jobs:
            if job["phase"] in job_records.FINAL:
                now = (job["phase"], job["exit_code"])
                self._test.assertEqual(self._final.setdefault(job["job_id"], now), now, "a final phase changed")

    def check(self):
        """Fails if something is left. Ends the clients."""
        self._end_clients()
        agents = [process for program, process in self._daemons() if program == self._agent]
        if self._test.coordinator.poll() is not None:
            return
        connected = self._connected()
        looked_at = [agent for agent in agents if self._node_id(agent) in connected]
        if agents and len(looked_at) == len(agents):
            self._check_jobs()
        for agent in looked_at:
            self._expect_none(lambda: self._of_jobs(agent), agent)
        if os.geteuid() != 0:
            print("not root, so it is not known what the daemons have open")
            return
        for agent in looked_at:
            self._expect_none(lambda: self.open_beyond_idle(self._agent, agent, 1, _SPARES), agent)
        coordinator = self._test.coordinator
        self._expect_none(lambda: self.open_beyond_idle(self._coordinator, coordinator, len(agents)), coordinator)

    def _daemons(self):
        """Returns (program, process) of each daemon that runs."""
        return [(program, process) for process in self._test.processes if process.poll() is None
                for program in (self._coordinator, self._agent) if program in process.args and "join" not in process.args]

    def _end_clients(self):
        daemons = [process for _, process in self._daemons()]
        for process in self._test.processes:
            if process.poll() is None and process not in daemons:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _connected(self):
        nodes = json.loads(self._test.accel("nodes", "--json").out)["nodes"]
        return {node["node_id"] for node in nodes if node["connected"]}

    def _check_jobs(self):
        waiting.wait_until(lambda: all(job["phase"] in job_records.FINAL for job in self._test.jobs()), self.seconds,
                           "all jobs are over")
        self._test.assertEqual([text for job in self._test.jobs() for text in job_records.contradictions(job)], [])

    def _expect_none(self, find, process):
        left = []

        def is_none():
            left[:] = find()
            return not left

        try:
            waiting.wait_until(is_none, self.seconds, "nothing is left")
        except AssertionError:
            self._test.fail(f"{process.args} has left {left}")

    @staticmethod
    def _state_dir(agent):
        return pathlib.Path(agent.args[agent.args.index("--state_dir") + 1])

    def _node_id(self, agent):
        path = self._state_dir(agent) / "node_id"
        return path.read_text().split()[0] if path.exists() else None

    def _of_jobs(self, agent):
        """Returns what an agent keeps of its jobs."""
        return [*self._state_dir(agent).glob("shims/*"), *groups(agent.pid, self._node_id(agent))]

    def open_beyond_idle(self, program, process, connections, listeners=None):
        """Returns what a daemon has open and an idle one has not."""
        listening, others = descriptors.sockets(process.pid)
        found = [f"{others} connections, of at most {connections}"] if others > connections else []
        if listeners is not None:
            found += [f"{count} sockets that listen on {address}, of at most {listeners}"
                      for address, count in listening.items() if count > listeners]
        if more := descriptors.kinds(process.pid) - self._idle.get(program, descriptors.kinds(process.pid)):
            found.append(f"{dict(more)} among {sorted(descriptors.targets(process.pid))}")
        return found
