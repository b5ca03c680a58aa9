"""Two agents have one node id, because the disk of a machine was cloned: the second one waits while the first one reports,
has the id once the first one is silent, and the first one then ends, and is refused with the same sentence if it is started
again."""

import os
import shutil
import signal

from tests.e2e import cluster

REFUSED = "has this id and is alive"


class TwoIncarnations(cluster.ClusterTest):
    NODE_TIMEOUT = 8

    def clone(self):
        """Makes a copy of the agent's folder that looks like the original."""
        shutil.copytree(self.path("n1"), self.path("clone"), copy_function=shutil.copy2)
        node_id, _ = self.path("n1/node_id").read_text().split()
        self.path("clone/node_id").write_text(f"{node_id} {os.stat(self.path('clone')).st_ino}\n")

    def start_clone(self):
        """Starts an agent on the clone, as on another machine: with another boot id, and without the control groups of the
        first agent, which have the id in their names."""
        boot = self.path("boot_id")
        boot.write_text("00000000-0000-4000-8000-000000000001\n")
        other_boot = ["unshare", "--mount", "sh", "-c",
                      f"mount --bind {boot} /proc/sys/kernel/random/boot_id && exec \"$@\"", "sh"]
        if self.run_command(*other_boot, "true").code != 0:
            self.skipTest("this user may not mount a file over the boot id")
        return self.start_agent("clone", under=other_boot, flags=("--name", "n1"), env={"ACCEL_CGROUP": "none"})

    def test_only_a_silent_agent_loses_its_id(self):
        self.clone()
        script = self.script("echo $$ > pid; until [ -e end ]; do sleep 0.05; done")
        job = self.accel("submit", "--cpu", script).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        clone = self.start_clone()
        cluster.wait_until(lambda: REFUSED in self.log("clone"), 60, "the clone is refused")
        self.assertIn("give it an empty one (--state_dir); if this agent replaces that one, stop that one", self.log("clone"))
        self.assertNotIn("the state directory is a copy", self.log("clone"))
        self.assertNotIn("connected to the coordinator", self.log("clone"))
        self.assertTrue(cluster.is_alive(worker))
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job of the first agent ends well")

        cluster.stop(self.agents[0].pid)
        cluster.wait_until(lambda: "connected to the coordinator" in self.log("clone"), 60, "the clone has the id")
        self.assertNotIn(REFUSED, self.log("n1"))
        self.agents[0].send_signal(signal.SIGCONT)
        self.assertEqual(self.agents[0].wait(60), 1)
        self.assertIn("has connected over a newer stream", self.log("n1"))
        # As a supervisor would.
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: REFUSED in self.log("n1"), 60, "the first agent is refused")
        self.assertIsNone(clone.poll())
        result = self.submit("--workdir", "/", "/bin/true")
        self.assertEqual(result.code, 0, result)
        self.assertTrue(self.path(f"clone/jobs/{result.out.split()[0]}").exists(), "the clone has run it")
        self.assertEqual(self.accel("nodes", "--json").out.count('"node_id"'), 1)


if __name__ == "__main__":
    cluster.main()
