"""A rank that makes no progress is found by --hang_timeout, and its threads are recorded."""

import os
import signal

from tests.e2e import cluster

# Each rank takes short steps, and writes its pid after the first ones. In generation 1 it steps until FOLDER/finish exists,
# in later ones only a few times.
_STEPS = """
import os, pathlib, signal, sys, time, accel
folder = pathlib.Path(sys.argv[1])
rank, generation = int(os.environ["RANK"]), int(os.environ["ACCEL_GENERATION"])
def note(name, text):
    (folder / f".{name}.{rank}").write_text(str(text))
    (folder / f".{name}.{rank}").rename(folder / name)
steps = 0
def step():
    global steps
    time.sleep(0.05)
    accel.beat()
    steps += 1
"""
_UNTIL_FINISH = _STEPS + """
while steps < 5 or (generation == 1 and not (folder / "finish").exists()):
    step()
    if steps % 5 == 0:
        note(f"steps.{rank}.{generation}", steps)
        note(f"pid.{rank}.{generation}", os.getpid())
print(f"rank {rank} has finished generation {generation}")
"""
# Rank 1 spins, and rank 0 then waits for it.
_SPINS = _STEPS + """
for _ in range(5):
    step()
if rank == 1:
    note("spins", os.getpid())
    while True:
        pass
while not (folder / "spins").exists():
    step()
for _ in range(10):
    step()  # So rank 0 is silent later than rank 1.
signal.pause()
"""

# Rank 0 saves for longer than a rank may be silent, and rank 1 waits for it.
_SAVES = _STEPS + """
for _ in range(5):
    step()
accel.pause()
begun = time.monotonic()
while time.monotonic() < begun + float(sys.argv[2]) if rank == 0 else not (folder / "saved").exists():
    time.sleep(0.05)
note("saved", rank)
for _ in range(5):
    step()
"""


class Hang(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["PYTHONPATH"] = cluster.runfile("python")
        self.path("run").mkdir()

    def options(self, script):
        return ("--python", "/usr/bin/python3", "--env", "PYTHONPATH", self.python(script), self.path("run"))

    def start_steps(self, *flags):
        """Submits a job of two ranks that step, stops rank 1, and returns the submit and the pid of the rank."""
        submit = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--processes_per_node", 2, *flags,
                            *self.options(_UNTIL_FINISH))
        self.wait_for_file("run/pid.0.1")
        pid = int(self.wait_for_file("run/pid.1.1"))
        cluster.stop(pid)
        return submit, pid

    def test_a_stopped_rank_is_found_and_the_job_restarts(self):
        submit, pid = self.start_steps("--hang_timeout", "4s", "--max_restarts", 1)
        result = self.finish(submit)
        self.assertEqual(result.code, 0, result)
        [job] = self.jobs()
        self.assertEqual((job["failures"], len(job["generations"])), (1, 2), job)
        cause = job["generations"][0]["cause"]
        self.assertEqual((cause["rank"], cause["node_name"], cause["exit"]["kind"]), (1, "n1", "HUNG"), cause)
        status = self.accel("status", "--long", job["job_id"]).out
        self.assertRegex(status, r"rank 1 on node n1 has made no progress for \d+s \(its last step ended at .* UTC; "
                                 r"a signal has stopped it\)")
        hung = self.accel("logs", "--generation", 1, "--rank", 1, job["job_id"])
        self.assertRegex(hung.out + hung.err, rf'accel: thread {pid} "python3": state T \(stopped by a signal\)')
        last = self.accel("logs", "--rank", 1, job["job_id"])
        self.assertIn("rank 1 has finished generation 2", last.out)

    def test_a_rank_that_spins_is_found(self):
        result = self.launch("--num_processes", 2, "--hang_timeout", 4, *self.options(_SPINS))
        self.assertEqual(result.code, 1, result)
        self.assertRegex(result.err, r"rank 1 .*has made no progress for \d+s \(.*; it is running\)")
        pid = int(self.wait_for_file("run/spins"))
        self.assertRegex(result.out + result.err, rf'accel: thread {pid} "python3": state R \(running\)')

    def test_a_rank_that_pauses_is_left_alone(self):
        result = self.launch("--num_processes", 2, "--hang_timeout", 4, *self.options(_SAVES), 6)
        self.assertEqual(result.code, 0, result)

    def test_a_training_rank_that_waits_for_another_is_not_named(self):
        result = self.submit("--processes_per_node", 2, "--hang_timeout", 4, "--max_restarts", 1,
                             cluster.runfile("tests/e2e/hanging_training"))
        self.assertEqual(result.code, 0, result)
        [job] = self.jobs()
        cause = job["generations"][0]["cause"]
        self.assertEqual((cause["rank"], cause["exit"]["kind"]), (1, "HUNG"), cause)
        self.assertIn("it is running", cause["exit"]["message"])
        # The second generation saves for longer than a rank may be silent, and longer than one may wait for another.
        self.assertIn("trained to the end", self.accel("logs", job["job_id"]).out)

    def test_without_a_hang_timeout_a_stopped_rank_is_left_alone(self):
        submit, pid = self.start_steps()

        def steps():
            return int(self.wait_for_file("run/steps.0.1"))

        begun = steps()
        cluster.wait_until(lambda: steps() > begun + 60, 60, "rank 0 has made more steps")
        self.assertEqual([job["phase"] for job in self.jobs()], ["RUNNING"])
        os.kill(pid, signal.SIGCONT)
        self.path("run/finish").touch()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, result)
        [job] = self.jobs()
        self.assertEqual(len(job["generations"]), 1, job)


if __name__ == "__main__":
    cluster.main()
