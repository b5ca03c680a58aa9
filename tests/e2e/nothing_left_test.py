"""The check at the end of each test with a cluster finds what was planted, and nothing without it."""

import os
import pathlib
import socket
import subprocess
import sys
import unittest

from tests.e2e import cluster, descriptors, nothing_left

# Opens what each line of its input names, and keeps it.
DAEMON = """
import os, socket, sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept.append({
        "file": lambda: open("/dev/null"),
        "pipe": os.pipe,
        "pidfd": lambda: os.pidfd_open(os.getpid()),
        "listener": lambda: socket.create_server(("127.0.0.1", 0)),
        "connection": socket.socketpair,
    }[line.strip()]())
    print("ready", flush=True)
"""


class Descriptors(unittest.TestCase):
    def setUp(self):
        self.daemon = subprocess.Popen([sys.executable, "-c", DAEMON], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end)
        self.daemon.stdout.readline()
        self.coordinator, self.processes = None, [self.daemon]
        self.left = nothing_left.Left(self, "no program", sys.executable)
        self.left.note_idle()

    def end(self):
        self.daemon.communicate()

    def found(self, *opened):
        for each in opened:
            self.daemon.stdin.write(f"{each}\n".encode())
            self.daemon.stdin.flush()
            self.daemon.stdout.readline()
        return self.left.open_beyond_idle(sys.executable, self.daemon, connections=1, listeners=1)

    @unittest.skipIf(os.geteuid() != 0, "only root sees what a daemon has open")
    def test_each_kind_is_found(self):
        self.assertEqual(self.found(), [])
        for kind, name in (("file", "'file': 1"), ("pipe", "'pipe': 2"), ("pidfd", "'anon_inode:[pidfd]': 1")):
            [text] = self.found(kind)
            self.assertIn(name, text)
        self.assertIn("pidfd", self.found()[0])

    def test_more_sockets_than_allowed_are_found(self):
        self.assertEqual(self.found("listener"), [])
        self.assertEqual(self.found("listener"), ["2 sockets that listen on 0100007F, of at most 1"])
        self.assertEqual(self.found("connection"), ["2 connections, of at most 1", "2 sockets that listen on 0100007F, of at most 1"])


def faults_of(plant):
    """Runs a test of a cluster that does plant(test). Returns the errors in which it ends."""
    class Planted(cluster.ClusterTest):
        SECONDS_TO_END = 0.5  # What is left does not end by itself.

        def runTest(self):
            self.assertEqual(self.submit("/bin/true").code, 0)
            self.left.seconds = self.SECONDS_TO_END
            plant(self)

    result = unittest.TestResult()
    Planted().run(result)
    return [text for _, text in result.failures + result.errors]


class Cluster(unittest.TestCase):
    def expect(self, text, plant):
        [found] = faults_of(plant)
        self.assertIn(text, found)

    def test_nothing_is_found_without_a_fault(self):
        self.assertEqual(faults_of(lambda test: None), [])

    @unittest.skipIf(os.geteuid() != 0, "only root sees what a daemon has open")
    def test_a_connection_that_is_left(self):
        def connect(test):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            before = descriptors.sockets(test.coordinator.pid)[1]
            client.connect(test.socket)
            cluster.wait_until(lambda: descriptors.sockets(test.coordinator.pid)[1] > before, 60, "it is accepted")

        self.expect("2 connections, of at most 1", connect)

    def test_a_record_of_a_shim(self):
        self.expect("n1/shims/planted", lambda test: test.path("n1/shims/planted").mkdir())

    def test_a_control_group(self):
        folders = []

        def make(test):
            node = test.path("n1/node_id").read_text().split()[0]
            test.accel("submit", "--cpu", test.script("touch up; exec sleep 600"))
            cluster.wait_until(lambda: test.path("up").exists(), 60, "the job runs")
            bases = {pathlib.Path(each).parent for each in nothing_left.groups(test.agents[0].pid, node)}
            if not bases:
                self.skipTest("no control groups here")
            folders.append(bases.pop() / f"planted-{node}")
            folders[0].mkdir()

        try:
            self.expect("/planted-", make)
        finally:
            for folder in folders:
                folder.rmdir()

    def test_a_process(self):
        def escape(test):
            test.run_command("setsid", "--fork", "sleep", "600", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        self.expect("processes were left behind", escape)

    def test_a_final_phase_that_changes(self):
        def change(test):
            [job] = test.jobs()
            test.left.note_jobs([{**job, "phase": "CANCELLED"}])

        self.expect("a final phase changed", change)

    def test_a_record_of_a_job_that_contradicts_itself(self):
        def change(test):
            [job] = test.jobs()
            job["generations"][0]["placements"][0]["first_rank"] = 1
            test.jobs = lambda: [job]

        self.expect("are not dense", change)


if __name__ == "__main__":
    cluster.main()
