"""A coordinator that is stopped for a while does not count its own absence as silence of the nodes, so no job is lost."""

import signal
import time

from tests.e2e import cluster, processes


class Absence(cluster.ClusterTest):
    AGENTS = 4
    NODE_TIMEOUT = 5  # Every pause below is longer.

    def start_jobs(self):
        """Starts a job over all nodes and one on each. They run until the file `go` exists."""
        worker = self.script("touch up.$ACCEL_JOB_ID.$RANK; while [ ! -e go ]; do sleep 0.05; done")
        jobs = [self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", count, worker)
                for count in (self.AGENTS, *[1] * self.AGENTS)]
        cluster.wait_until(lambda: sum(job["phase"] == "RUNNING" for job in self.jobs()) == len(jobs), 60, "all jobs run")
        return jobs

    def absent(self, seconds):
        self.coordinator.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        cluster.wait_until(lambda: time.monotonic() > began + seconds, seconds + 60, "the absence is over")
        self.coordinator.send_signal(signal.SIGCONT)

    def check(self, seconds):
        jobs = self.start_jobs()
        self.absent(seconds)
        # The clients may have lost their connections, which must have no effect on their jobs.
        self.path("go").touch()
        for job in jobs:
            result = self.finish(job)
            self.assertEqual(result.code, 0, f"{result}\n{self.log('coordinator')}")
        for job in self.jobs():
            self.assertEqual((job["phase"], len(job["generations"]), job.get("failures", 0)), ("SUCCEEDED", 1, 0), job)

    def test_nine_seconds(self):
        self.check(9)

    # By then the agents have closed their connections (keep-alive: 10 s and 5 s) and must reconnect.
    def test_seventeen_seconds(self):
        self.check(17)

    # By then the clients have closed theirs, too (20 s and 20 s).
    def test_clients_lose_no_line_in_forty_five_seconds(self):
        worker = self.script("touch up; i=0; while [ ! -e go ]; do echo $i; i=$((i + 1)); sleep 0.05; done; echo $i > lines")
        job = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", worker)
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        reader = self.start(cluster.ACCEL, "logs", "--follow", self.jobs()[0]["job_id"])
        first = reader.stdout.readline().decode()
        self.absent(45)
        for client in (job, reader):
            processes.wait_for_line(client, "the coordinator is back")
        self.path("go").touch()
        self.assertEqual(self.finish(job).code, 0)
        read = self.finish(reader)
        self.assertEqual(read.code, 0, read)
        self.assertEqual((first + read.out).split(), [str(line) for line in range(int(self.path("lines").read_text()))])


if __name__ == "__main__":
    cluster.main()
