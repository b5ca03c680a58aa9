"""Agents that die: their jobs go on, and the next agent adopts them with the same processes, every byte of their output
and their exact exit codes."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import time

from tests.e2e import cluster, nothing_left

# Each rank prints numbered lines until it is told how to end, in both streams.
WORKER = """
echo "$$ $PPID" > pid.$RANK.new; mv pid.$RANK.new pid.$RANK.$ACCEL_GENERATION
i=0
while [ ! -e end.$RANK ] && [ ! -e end ]; do
  i=$((i + 1)); echo "line $i of $RANK"; echo "err $i of $RANK" >&2; sleep 0.01
done
echo $i > last.$RANK
exit $((RANK == 0 ? 0 : 40 + RANK))
"""


class LongJob(cluster.ClusterTest):
    RANKS = 8

    def start_job(self, *flags, ranks=RANKS, script=WORKER):
        """Submits the job and waits until every rank runs. Returns its id, the workers' pids and the shim's pid."""
        job = self.accel("submit", "--cpu", "--processes_per_node", ranks, *flags, self.script(script)).out.split()[0]
        pids = [tuple(map(int, self.wait_for_file(f"pid.{rank}.1").split())) for rank in range(ranks)]
        cluster.wait_until(lambda: self.phase(job) == "RUNNING", 60, "RUNNING")
        return job, [pid for pid, _ in pids], pids[0][1]

    def status(self, job):
        [status] = self.jobs(job)
        return status

    def phase(self, job):
        return self.status(job)["phase"]

    def wait_for_phase(self, job, phase, seconds=60):
        cluster.wait_until(lambda: self.phase(job) == phase, seconds, f"{job} is {phase}")
        return self.status(job)

    def restart_agent(self, how=signal.SIGKILL, before=lambda: None):
        """Ends the agent and starts the next one. Returns the seconds from its start until it has adopted."""
        self.agents[0].send_signal(how)
        code = self.agents[0].wait(timeout=60)
        self.assertEqual(code, -signal.SIGKILL if how == signal.SIGKILL else 0)
        before()
        adopted = self.log("n1").count("adopted a shim")
        begin = time.monotonic()
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: self.log("n1").count("adopted a shim") > adopted, 60, "the shim is adopted")
        return time.monotonic() - begin

    def check_output(self, job, ranks):
        """Every line of these ranks is there once, in order, whichever agent ran when it was written."""
        for rank in ranks:
            last = int(self.path(f"last.{rank}").read_text())
            logs = self.accel("logs", job, "--rank", rank)
            for text, kind in ((logs.out, "line"), (logs.err, "err")):
                found = re.findall(r"[a-z]+ \d+ of \d+", text)
                self.assertEqual(found, [f"{kind} {i} of {rank}" for i in range(1, last + 1)])

    def check_nothing_is_left(self, shim):
        cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim exits")
        cluster.wait_until(lambda: not list(self.path("n1/shims").iterdir()), 60, "no record is left")


class Adopt(LongJob):
    def survive(self, how):
        job, workers, shim = self.start_job()

        def end(rank):
            self.path(f"end.{rank}").touch()
            cluster.wait_until(lambda: not cluster.is_alive(workers[rank]), 60, f"rank {rank} ends")

        self.restart_agent(how, before=lambda: end(0))
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [rank != 0 for rank in range(self.RANKS)],
                         "workers were disturbed")
        self.assertEqual(self.phase(job), "RUNNING")
        # A rank that fails while there is no agent ends the job, with its exact code and last lines.
        self.restart_agent(how, before=lambda: end(3))
        status = self.wait_for_phase(job, "FAILED")
        self.assertEqual(status["exit_code"], 43)
        self.assertEqual(status["cause"]["rank"], 3)
        self.assertIn("of 3", status["cause"]["last_lines"][-1])
        self.assertEqual(len(status["generations"]), 1)
        self.check_output(job, (0, 3))
        self.check_nothing_is_left(shim)

    def test_kill_9_of_the_agent_and_ranks_that_end_meanwhile(self):
        self.survive(signal.SIGKILL)

    def test_sigterm_of_the_agent_and_ranks_that_end_meanwhile(self):
        self.survive(signal.SIGTERM)

    def test_a_job_runs_through_five_agents_to_its_end(self):
        job, workers, shim = self.start_job(ranks=2, script=WORKER.replace("40 + RANK", "0"))
        for _ in range(4):
            self.restart_agent()
            self.assertEqual([cluster.is_alive(pid) for pid in workers], [True, True])
            self.assertEqual(self.phase(job), "RUNNING")
        self.assertEqual(cluster.parent_of(workers[0]), shim)
        self.path("end").touch()
        status = self.wait_for_phase(job, "SUCCEEDED")
        self.assertEqual((len(status["generations"]), status.get("failures", 0)), (1, 0))
        self.check_output(job, (0, 1))
        self.check_nothing_is_left(shim)

    def test_a_job_that_ends_while_there_is_no_agent(self):
        job, workers, shim = self.start_job(ranks=2)

        def all_end():
            self.path("end").touch()
            cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim has left its result")

        self.restart_agent(before=all_end)
        status = self.wait_for_phase(job, "FAILED")
        self.assertEqual((status["exit_code"], status["cause"]["rank"]), (41, 1))
        self.check_output(job, (0, 1))
        self.check_nothing_is_left(shim)

    def test_a_cancel_while_there_is_no_agent_reaches_the_next_one(self):
        job, workers, shim = self.start_job(ranks=2)
        self.restart_agent(before=lambda: self.accel("cancel", job))
        self.wait_for_phase(job, "CANCELLED")
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [False, False])
        self.check_nothing_is_left(shim)

    def test_coordinator_and_agent_are_killed_together(self):
        job, workers, shim = self.start_job(ranks=2)
        for daemon in (self.coordinator, self.agents[0]):
            daemon.kill()
            daemon.wait()
        self.path("end.1").touch()
        cluster.wait_until(lambda: not cluster.is_alive(workers[1]), 60, "rank 1 ends")
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
        self.agents[0] = self.start_agent("n1")
        status = self.wait_for_phase(job, "FAILED")
        self.assertEqual((status["exit_code"], status["cause"]["rank"]), (41, 1))
        self.assertEqual(len(status["generations"]), 1)
        self.check_output(job, (1,))
        self.check_nothing_is_left(shim)

    def test_a_job_that_ends_with_its_agent(self):
        job, workers, shim = self.start_job("--on_agent_loss", "end", "--max_restarts", 1, ranks=2)
        self.agents[0].kill()
        self.agents[0].wait()
        cluster.wait_until(lambda: not any(map(cluster.is_alive, [*workers, shim])), 60, "its processes end")
        self.agents[0] = self.start_agent("n1")
        self.wait_for_file("pid.1.2")
        status = self.wait_for_phase(job, "RUNNING")
        cause = status["generations"][0]["cause"]
        self.assertEqual(cause["exit"]["kind"], "NODE_LOST", cause)
        self.accel("cancel", job)
        self.wait_for_phase(job, "CANCELLED")

    def test_a_shim_that_dies_without_an_agent_leaves_nothing(self):
        job, workers, shim = self.start_job(ranks=2, script="trap '' TERM; setsid sleep 1000 &\n" + WORKER)

        def kill_shim():
            os.kill(shim, signal.SIGKILL)
            cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim is dead")

        self.restart_agent(before=kill_shim)
        status = self.wait_for_phase(job, "FAILED")
        self.assertEqual(status["cause"]["exit"]["kind"], "SHIM_DIED")
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [False, False])
        self.check_nothing_is_left(shim)

    def test_a_second_agent_is_refused_and_harmless(self):
        job, workers, shim = self.start_job(ranks=2)
        second = self.start_agent("n1")
        cluster.wait_until(lambda: "waiting for another process" in self.log("n1"), 60, "the second agent waits")
        begin = time.monotonic()
        second.terminate()
        self.assertEqual(second.wait(timeout=60), 0)
        self.assertLess(time.monotonic() - begin, 30, "it waited until its 40 s were over")
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [True, True])
        self.path("end").touch()
        self.wait_for_phase(job, "FAILED")
        self.check_nothing_is_left(shim)


class LostNode(LongJob):
    NODE_TIMEOUT = 8

    def test_a_stopped_agent_that_continues_disturbs_nothing(self):
        job, workers, shim = self.start_job(ranks=2)
        cluster.stop(self.agents[0].pid)
        cluster.wait_until(lambda: "Node n1 is silent" in self.jobs(job)[0]["reason"], 60, "the job waits for its node")
        # An operator gives the node up, and the job fails, because it may not restart.
        self.assertEqual(self.accel("drain", "--now", "n1").code, 0)
        status = self.wait_for_phase(job, "FAILED")
        self.assertEqual(status["cause"]["exit"]["kind"], "NODE_LOST")
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [True, True])
        os.kill(self.agents[0].pid, signal.SIGCONT)
        cluster.wait_until(lambda: not any(map(cluster.is_alive, workers)), 60, "no rank of the lost part runs")
        self.check_nothing_is_left(shim)


class TwoNodes(LongJob):
    AGENTS = 2

    def test_the_store_and_the_ranks_of_both_nodes_survive_every_agent(self):
        script = WORKER.replace("i=0", "echo $MASTER_ADDR $MASTER_PORT > store.$RANK\ni=0", 1).replace("40 + RANK", "0")
        job = self.accel("submit", "--cpu", "--nodes", 2, self.script(script)).out.split()[0]
        workers = [int(self.wait_for_file(f"pid.{rank}.1").split()[0]) for rank in range(2)]
        self.wait_for_phase(job, "RUNNING")
        for i in range(2):
            self.agents[i].kill()
            self.agents[i].wait()
        address, port = self.wait_for_file("store.1").split()
        with socket.create_connection((address, int(port)), timeout=10):
            pass  # The shim serves the store without any agent.
        self.agents = [self.start_agent(f"n{i + 1}") for i in range(2)]
        self.wait_for_nodes(2)
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [True, True])
        self.path("end").touch()
        status = self.wait_for_phase(job, "SUCCEEDED")
        self.assertEqual(len(status["generations"]), 1)
        self.check_output(job, (0, 1))


class Reboot(LongJob):
    @staticmethod
    def is_removed(group):
        """Removes a control group if no process is in it."""
        with contextlib.suppress(OSError):
            os.rmdir(group)
        return not os.path.exists(group)

    def test_a_reboot(self):
        """The next agent sees another boot id. Everything of the boot before is dead, and nothing of it is believed."""
        boot = self.path("boot_id")
        boot.write_text("00000000-0000-4000-8000-000000000001\n")
        as_after_a_reboot = ["unshare", "--mount", "sh", "-c",
                             f"mount --bind {boot} /proc/sys/kernel/random/boot_id && exec \"$@\"", "sh"]
        if self.run_command(*as_after_a_reboot, "true").code != 0:
            self.skipTest("this user may not mount a file over the boot id")
        job, workers, shim = self.start_job("--max_restarts", 1, ranks=2)
        # The agent first, so that it does not see the others die.
        self.agents[0].kill()
        self.agents[0].wait()
        for pid in (shim, *workers):
            with contextlib.suppress(ProcessLookupError):  # Workers end with their shim.
                os.kill(pid, signal.SIGKILL)
        for group in nothing_left.groups(os.getpid(), self.path("n1/node_id").read_text().split()[0]):
            cluster.wait_until(lambda: self.is_removed(group), 60, f"{group} is gone, as after a reboot")
        # By now the shim's pid may belong to any process.
        record = self.path(f"n1/shims/{job}/record.1")
        victim = self.start("sleep", 600)
        start_time = pathlib.Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[19]
        record.write_text(re.sub(r"pid=\d+\nstart_time_ticks=\d+", f"pid={victim.pid}\nstart_time_ticks={start_time}",
                                 record.read_text()))
        self.agents[0] = self.start_agent("n1", under=as_after_a_reboot)
        self.wait_for_file("pid.1.2")
        status = self.wait_for_phase(job, "RUNNING")
        self.assertIn("its host was rebooted", status["generations"][0]["cause"]["exit"]["message"])
        self.assertIsNone(victim.poll(), "a process was taken for the shim of an earlier boot")


class Fence(LongJob):
    """Nodes without contact stop the jobs that asked for it."""

    # Many times longer than the silence that a loaded machine may cause.
    FENCED = ("--stop_on_disconnect_after", 10)

    def check_fenced(self, workers):
        cluster.wait_until(lambda: not any(map(cluster.is_alive, workers)), 60, "the workers are stopped")

    def test_the_agent_never_comes_back(self):
        job, workers, shim = self.start_job(*self.FENCED, ranks=2)
        self.agents[0].kill()
        self.agents[0].wait()
        begin = time.monotonic()
        self.check_fenced(workers)
        self.assertGreater(time.monotonic() - begin, 3)
        cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim leaves its result and exits")
        self.assertEqual(self.leftovers(variable=f"ACCEL_JOB_ID={job}"), [])

    def test_the_coordinator_never_comes_back(self):
        job, workers, shim = self.start_job(*self.FENCED, ranks=2)
        self.coordinator.kill()
        self.coordinator.wait()
        self.check_fenced(workers)
        self.assertIsNone(self.agents[0].poll(), "the agent lives")

    def test_contact_keeps_it(self):
        job, workers, shim = self.start_job(*self.FENCED, ranks=2)
        begin = time.monotonic()
        cluster.wait_until(lambda: time.monotonic() > begin + 4, 60, "")
        self.restart_agent()
        cluster.wait_until(lambda: time.monotonic() > begin + 16, 60, "")
        self.assertEqual([cluster.is_alive(pid) for pid in workers], [True, True])
        self.path("end").touch()
        self.wait_for_phase(job, "FAILED")
        self.check_nothing_is_left(shim)


if __name__ == "__main__":
    cluster.main()
