"""An agent that is killed: the next one adopts its jobs soon. The times are those of the agents' own logs."""

import datetime

from tests.e2e import cluster

JOBS = 5
MOST_SECONDS = 5  # A second at most on an idle machine.


class AgentDeath(cluster.ClusterTest):
    def time_of(self, text):
        """Returns the time of the last line in the agent's log that contains the text."""
        line = [line for line in self.log("n1").splitlines() if text in line][-1]
        return datetime.datetime.fromisoformat(line.split()[0])

    def test_the_next_agent_adopts_all_jobs_soon(self):
        worker = self.script("echo $$ > pid.$ACCEL_JOB_ID; until [ -e end ]; do sleep 0.05; done")
        jobs = [self.accel("submit", "--cpu", worker).out.split()[0] for _ in range(JOBS)]
        pids = [int(self.wait_for_file(f"pid.{job}")) for job in jobs]
        cluster.wait_until(lambda: all(job["phase"] == "RUNNING" for job in self.jobs()), 60, "RUNNING")
        for count in (1, 2, 3):
            self.agents[0].kill()
            self.agents[0].wait()
            self.agents[0] = self.start_agent("n1")
            cluster.wait_until(lambda: self.log("n1").count("adopted a shim") == count * JOBS, 60, "the shims are adopted")
            took = (self.time_of("adopted a shim") - self.time_of("agent starts")).total_seconds()
            print(f"all jobs were adopted within {took:.3f} s")
            self.assertLess(took, MOST_SECONDS)
            self.wait_for_nodes(1)
        self.assertEqual([pid for pid in pids if not cluster.is_alive(pid)], [])
        self.path("end").touch()
        cluster.wait_until(lambda: all(job["phase"] == "SUCCEEDED" for job in self.jobs()), 60, "all jobs end well")
        self.assertEqual({len(job["generations"]) for job in self.jobs()}, {1})


if __name__ == "__main__":
    cluster.main()
