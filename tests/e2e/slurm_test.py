"""`srun accel launch` in an allocation of a real Slurm."""

import re

from tests.e2e import cluster, slurm

# Saves when it gets the signal $SAVE_ON, as a training program does.
SAVES = """
trap 'echo saved > saved.$RANK; exit 0' $SAVE_ON
touch runs.$RANK
while :; do sleep 0.05 & wait $!; done
"""


class UnequalGpus(slurm.SlurmTest):
    GPUS = {"h1": 1, "h2": 2}

    def test_each_node_runs_a_process_for_each_of_its_gpus(self):
        """NVML, which is a fake here, shows two GPUs on both nodes. Slurm gives the job one on h1."""
        drivers = self.path("drivers")
        drivers.mkdir()
        (drivers / "libnvidia-ml.so.1").symlink_to(cluster.runfile("agent/probe/libfake_nvml.so"))
        self.env["LD_LIBRARY_PATH"] = str(drivers)
        show = self.script("echo $RANK of $WORLD_SIZE on $ACCEL_NODE, GPU $CUDA_VISIBLE_DEVICES, $LOCAL_RANK of $LOCAL_WORLD_SIZE")
        result = self.finish(self.srun("--nodes=2", "--gpus=3", "accel", "launch", show))
        self.assertEqual(result.code, 0, result)
        lines = sorted(re.sub(r"^\[rank \d\] ", "", line) for line in result.out.splitlines())
        self.assertEqual(lines, ["0 of 3 on h1, GPU 0, 0 of 1", "1 of 3 on h2, GPU 0,1, 0 of 2", "2 of 3 on h2, GPU 0,1, 1 of 2"])


class Slurm(slurm.SlurmTest):
    def test_one_job_over_the_nodes_without_flags(self):
        show = self.script("echo $RANK of $WORLD_SIZE on $ACCEL_NODE, $LOCAL_WORLD_SIZE here")
        result = self.finish(self.srun("--nodes=2", "accel", "launch", "--cpu", show))
        self.assertEqual(result.code, 0, result)
        lines = sorted(re.sub(r"^\[rank \d\] ", "", line) for line in result.out.splitlines())
        self.assertEqual(lines, ["0 of 2 on h1, 1 here", "1 of 2 on h2, 1 here"])

    def test_nodes_may_differ(self):
        show = self.script("echo $RANK of $WORLD_SIZE on $ACCEL_NODE")
        launch = self.script(f"exec accel launch --cpu --nproc_per_node $((SLURM_NODEID + 1)) {show}", name="launch.sh")
        result = self.finish(self.srun("--nodes=2", "--cpus-per-task=2", launch))
        self.assertEqual(result.code, 0, result)
        lines = sorted(re.sub(r"^\[rank \d\] ", "", line) for line in result.out.splitlines())
        self.assertEqual(lines, ["0 of 3 on h1", "1 of 3 on h2", "2 of 3 on h2"])

    def test_two_steps_at_one_time(self):
        """Each has its own port and name, also on the same first node."""
        steps = [self.srun("--nodes=2", "accel", "launch", "--cpu", "/bin/sh", "-c", f"echo step {number}") for number in range(2)]
        for number, step in enumerate(steps):
            result = self.finish(step)
            self.assertEqual(result.code, 0, result)
            self.assertEqual(result.out.count(f"step {number}"), 2, result)

    def test_several_tasks_on_a_node_are_refused(self):
        result = self.finish(self.srun("--nodes=2", "--ntasks-per-node=2", "accel", "launch", "--cpu", "/bin/true"))
        self.assertEqual(result.code, 2, result)
        self.assertIn("srun has started 4 tasks on 2 nodes", result.err)
        self.assertIn("--ntasks-per-node=1", result.err)

    def start_saving(self, save_on):
        self.env["SAVE_ON"] = save_on
        job = self.srun("--nodes=2", "--exclusive", "--kill-on-bad-exit=0", "accel", "launch", "--cpu", self.script(SAVES))
        cluster.wait_until(lambda: len(list(self.path("").glob("runs.*"))) == 2, 60, "both workers run")
        return job

    def wait_for_saved(self):
        for rank in range(2):
            self.assertEqual(self.wait_for_file(f"saved.{rank}"), "saved\n")

    def test_preemption(self):
        """A job of a partition that comes first takes the nodes. The workers get SIGTERM and time to save."""
        low = self.start_saving("TERM")
        high = self.srun("--nodes=2", "--exclusive", "--partition=high", "/bin/true")
        self.wait_for_saved()
        self.assertEqual(self.finish(high, seconds=90).code, 0)
        # Slurm signals the workers and `accel launch` at once. Its code is 0 if the workers, which exit with 0, are faster.
        self.finish(low)

    def test_an_early_warning(self):
        """As of srun --signal=USR1@60: Slurm sends it to all processes of the step, and it is meant for the workers."""
        job = self.start_saving("USR1")
        self.assertEqual(self.finish(self.start_on(1, "scancel", "--signal=USR1", "1")).code, 0)
        self.wait_for_saved()
        result = self.finish(job)
        self.assertEqual(result.code, 0, result)


if __name__ == "__main__":
    cluster.main()
