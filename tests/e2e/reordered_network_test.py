"""Packets that arrive in another order, late or twice cost a cluster and its jobs nothing."""

from tests.e2e import cluster, on_hosts

WORKER = """
import os, sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
total = torch.zeros(10000)
for step in range(10):
    part = torch.full((10000,), float(dist.get_rank() + step))
    dist.all_reduce(part)
    total += part
print(f"total {total[0].item():.0f} {total[-1].item():.0f}", flush=True)
"""


class ReorderedNetwork(on_hosts.OnHosts):
    REAL = True

    def count(self, name):
        """Returns a counter of the kernel of the second host."""
        lines = self.run_command(*self.hosts.inside(2), "cat", "/proc/net/netstat").out.splitlines()
        names, values = [line.split() for line in lines if line.startswith("TcpExt:")]
        return int(values[names.index(name)])

    def counts(self):
        """Returns how many segments came before an earlier one, and how many came twice."""
        return self.count("TCPOFOQueue"), self.count("TCPDSACKOldSent") + self.count("TCPDSACKOfoSent")

    def test_jobs_run_as_on_a_quiet_network(self):
        # A frame leaves up to 30 ms after one that came later, and a quarter of the frames leave twice.
        self.hosts.link(delay=0.005, jitter=0.03, repeat=0.25)
        before = self.counts()
        job = self.accel("submit", "--cpu", "--nodes", self.AGENTS, "--python", cluster.PYTHON, self.python(WORKER))
        self.assertEqual(job.code, 0, job)
        job = job.out.split()[0]
        small = [self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", self.AGENTS, self.script("exit 0"))
                 for _ in range(5)]
        for each in small:
            result = self.finish(each)
            self.assertEqual(result.code, 0, result)
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] in ("SUCCEEDED", "FAILED"), 60, "the job is over")
        self.assertEqual({(each["phase"], len(each["generations"]), each["membership_changes"]) for each in self.jobs()},
                         {("SUCCEEDED", 1, 0)}, self.jobs())
        # The sum of rank + step over 2 ranks and 10 steps.
        for rank in range(self.AGENTS):
            self.assertEqual(self.accel("logs", job, "--rank", rank).out, "total 100 100\n")
        for name in ("n1", "n2"):
            self.assertEqual(self.log(name).count("connected to the coordinator"), 1)
        after = self.counts()
        print(f"segments out of order, and segments that came twice: {before} before, {after} after")
        for earlier, later in zip(before, after):
            self.assertGreater(later, earlier + 20)


if __name__ == "__main__":
    cluster.main()
