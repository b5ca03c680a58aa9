"""What operators and followers of jobs see: logs, limits, and daemons that stop, restart or are missing."""

import signal
import socket

from tests.e2e import cluster


class Following(cluster.ClusterTest):
    AGENTS = 2
    NODE_TIMEOUT = 8

    def test_a_follower_sees_lines_as_they_come_and_the_end(self):
        script = self.script("echo first of $RANK; while [ ! -e go ]; do sleep 0.02; done; echo last of $RANK; echo bad >&2")
        job = self.accel("submit", "--cpu", "--nodes", 2, script).out.split()[0]
        # A follower of a job that is not placed yet is informed of that.
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        follower = self.start(cluster.ACCEL, "logs", "--follow", job)
        seen = sorted(follower.stdout.readline().decode() for _ in range(2))
        self.assertEqual(seen, ["[rank 0] first of 0\n", "[rank 1] first of 1\n"])
        self.assertIsNone(follower.poll())
        self.path("go").touch()
        result = self.finish(follower)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(sorted(result.out.splitlines()), ["[rank 0] last of 0", "[rank 1] last of 1"])
        self.assertEqual(sorted(result.err.splitlines()), ["[rank 0] bad", "[rank 1] bad"])
        again = self.accel("logs", "-f", job, "--rank", 1)
        self.assertEqual((again.code, again.out, again.err), (0, "first of 1\nlast of 1\n", "bad\n"))

    def test_a_follower_continues_through_restarts(self):
        script = self.script("echo generation $ACCEL_GENERATION; while [ ! -e go ]; do sleep 0.02; done; exit 1")
        job = self.accel("submit", "--cpu", "--max_restarts", 2, script).out.split()[0]
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        follower = self.start(cluster.ACCEL, "logs", "--follow", job)
        self.assertEqual(follower.stdout.readline(), b"generation 1\n")
        self.path("go").touch()
        result = self.finish(follower)
        self.assertEqual((result.code, result.out), (0, "generation 2\ngeneration 3\n"), result)
        self.assertIn("generation 3", result.err)

    def test_a_follower_is_informed_which_rank_is_lost(self):
        script = self.script("echo up; exec sleep 600")
        job = self.accel("submit", "--cpu", "--nodes", 2, script).out.split()[0]
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        follower = self.start(cluster.ACCEL, "logs", "--follow", job)
        for _ in range(2):
            follower.stdout.readline()
        self.agents[1].kill()
        result = self.finish(follower)
        self.assertEqual(result.code, 1, result)
        self.assertIn("rank 1: ", result.err)
        self.assertNotIn("rank 0: ", result.err)

    def test_each_generation_has_its_own_output(self):
        job = self.submit("--max_restarts", 1, self.script("echo gen $ACCEL_GENERATION; exit 1")).out.split()[0]
        self.assertEqual(self.accel("logs", job).out, "gen 2\n")
        self.assertEqual(self.accel("logs", job, "--generation", 1).out, "gen 1\n")
        missing = self.accel("logs", job, "--generation", 3)
        self.assertEqual(missing.code, 1, missing)
        self.assertIn("generation 3", missing.err)


class Jobs(cluster.ClusterTest):
    def test_a_logout_ends_no_daemon(self):
        script = self.script("touch up; while [ ! -e go ]; do sleep 0.02; done")
        waiting = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", script)
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        for daemon in (self.coordinator, *self.agents):
            for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                daemon.send_signal(number)
        self.path("go").touch()
        self.assertEqual(self.finish(waiting).code, 0)
        for daemon in (self.coordinator, *self.agents):
            self.assertIsNone(daemon.poll())

    def test_a_time_limit_ends_the_job(self):
        result = self.submit("--time_limit", "1s", "--name", "slow", self.script("exec sleep 600"))
        self.assertEqual(result.code, 124, result)
        self.assertIn("time limit of 1s", result.err)
        self.assertLess(result.seconds, 30, "its program was killed after the grace")
        [job] = self.jobs()
        self.assertEqual((job["spec"]["name"], job["phase"], job["exit_code"]), ("slow", "FAILED", 124))

    def test_a_job_that_has_not_failed_has_no_cause(self):
        well = self.submit("/bin/true").out.split()[0]
        waiting = self.accel("submit", "--cpu", self.script("touch up; exec sleep 600")).out.split()[0]
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        self.assertEqual(self.accel("cancel", waiting).code, 0)
        cluster.wait_until(lambda: self.jobs(waiting)[0]["phase"] == "CANCELLED", 60, "the job is cancelled")
        for job in self.jobs():
            self.assertNotIn("cause", job)
        for job in (well, waiting):
            self.assertNotIn("rank 0 ended", self.accel("status", job).out)

    def test_environment_and_workdir_travel(self):
        self.path("elsewhere").mkdir()
        result = self.submit("--env", "ONE=1", "--env", "CARRIED", "--workdir", "elsewhere", self.script("echo $ONE $CARRIED $PWD"),
                             env={"CARRIED": "from here"})
        self.assertEqual(self.accel("logs", result.out.split()[0]).out, f"1 from here {self.path('elsewhere')}\n")

    def test_gpus_that_no_node_has_are_waited_for(self):
        job = self.accel("submit", "--gpu_ids", 7, "/bin/true").out.split()[0]
        cluster.wait_until(lambda: "gpu_ids" in self.jobs(job)[0].get("reason", ""), 60, "it says what it waits for")
        self.assertEqual(self.jobs(job)[0]["phase"], "PENDING")


class Daemons(cluster.ClusterTest):
    NODE_TIMEOUT = 8

    def running_job(self, *flags):
        waiting = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", *flags, self.script("echo $$ > pid; exec sleep 600"))
        worker = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs()[0]["phase"] == "RUNNING", 60, "the job runs")
        return waiting, worker

    def test_sigterm_of_an_agent_ends_the_job_that_asked_for_it(self):
        waiting, worker = self.running_job("--on_agent_loss", "end")
        self.agents[0].terminate()
        self.assertEqual(self.agents[0].wait(timeout=25), 0)  # Before the grace of 30 s.
        self.assertFalse(cluster.is_alive(worker))
        result = self.finish(waiting)
        self.assertEqual(result.code, 1, result)
        self.assertIn("node n1 was preempted: its agent was stopped", result.err)

    def test_sigterm_of_an_agent_whose_coordinator_is_gone(self):
        _, worker = self.running_job()
        self.coordinator.kill()
        self.coordinator.wait()
        cluster.wait_until(lambda: "coordinator unreachable" in self.log("n1"), 60, "the agent has noticed")
        self.agents[0].terminate()
        self.assertEqual(self.agents[0].wait(timeout=60), 0)
        self.assertTrue(cluster.is_alive(worker), "no one has ended its job")

    def test_the_state_directory_of_an_agent_is_its_own(self):
        second = self.start_logged("second.log", cluster.AGENT, "--state_dir", self.path("n1"), "--name", "n2")
        cluster.wait_until(lambda: f"pid={self.agents[0].pid}" in self.log("second"), 60, "it says whom it waits for")
        second.kill()
        self.assertEqual(self.submit("/bin/true").code, 0)

    def test_a_name_belongs_to_one_live_node(self):
        waiting, worker = self.running_job()
        self.start_logged("other.log", cluster.AGENT, "--state_dir", self.path("other"), "--name", "n1")
        cluster.wait_until(lambda: "has this name and is alive" in self.log("other"), 60, "it says who has the name")
        self.assertIn("--name", self.log("other"))
        self.assertTrue(cluster.is_alive(worker))
        self.assertEqual(self.accel("nodes", "--json").out.count('"connected": true'), 1)
        # Once the first node is gone for good, the name is free.
        self.agents[0].kill()
        cluster.wait_until(lambda: "connected to the coordinator" in self.log("other"), 60, "the second one has the name")
        # The job waits for its node. It can be cancelled.
        self.assertEqual(self.accel("cancel", self.jobs()[0]["job_id"]).code, 0)
        self.assertEqual(self.finish(waiting).code, 143)

    def test_a_second_coordinator_is_refused(self):
        taken = self.run_command(cluster.COORDINATOR, "--state_dir", self.path("coordinator"))
        self.assertEqual(taken.code, 1, taken)
        self.assertIn(f"in use by process {self.coordinator.pid}", taken.err)
        taken = self.run_command(cluster.COORDINATOR, "--state_dir", self.path("other"))
        self.assertEqual(taken.code, 1, taken)
        self.assertIn(f"another coordinator (process {self.coordinator.pid}) listens at {self.socket}", taken.err)
        self.assertEqual(self.accel("nodes").code, 0)


class Absent(cluster.Test):
    def test_a_missing_coordinator_is_reported_immediately(self):
        self.env["ACCEL_COORDINATOR"] = f"unix:{self.socket}"
        for command in (["nodes"], ["status"], ["logs", "x"], ["submit", "/bin/true"]):
            result = self.accel(*command)
            self.assertEqual(result.code, 1, result)
            self.assertIn("cannot reach the coordinator at " + self.env["ACCEL_COORDINATOR"], result.err)
            # A submit may come before its coordinator. The others report the error without another attempt.
            self.assertEqual("trying again for 10s" in result.err, command[0] == "submit", result)
            self.assertEqual("trying again" in result.err, command[0] == "submit", result)

    def test_a_coordinator_that_never_answers_has_a_bound(self):
        with socket.create_server(self.socket, family=socket.AF_UNIX):
            address = f"unix:{self.socket}"
            result = self.accel("nodes", env={"ACCEL_COORDINATOR": address})
        self.assertEqual(result.code, 1, result)
        self.assertLess(result.seconds, 60)
        self.assertIn(address, result.err)

    def test_wrong_usage_of_daemons_is_2(self):
        for command in ([cluster.COORDINATOR], [cluster.AGENT], [cluster.SHIM, "--no_such_flag"],
                        [cluster.COORDINATOR, "--listen", "nowhere", "--state_dir", self.path("c")],
                        [cluster.AGENT, "--coordinator", "nowhere", "--state_dir", self.path("a")]):
            result = self.run_command(*command)
            self.assertEqual(result.code, 2, result)
            self.assertNotEqual(result.err, "")

    def test_an_agent_may_start_before_its_coordinator(self):
        address = f"unix:{self.socket}"
        self.start_logged("early.log", cluster.AGENT, "--coordinator", address, "--state_dir", self.path("early"), "--name",
                          "early", *cluster.AS_ROOT)
        cluster.wait_until(lambda: "agent starts" in self.path("early.log").read_text(), 60, "the agent is up")
        self.start_logged("c.log", cluster.COORDINATOR, "--socket", self.socket, "--state_dir", self.path("c"))
        self.env["ACCEL_COORDINATOR"] = address
        cluster.wait_until(lambda: '"connected": true' in self.accel("nodes", "--json").out, 60, "the agent connects")
        self.assertEqual(self.accel("submit", "--wait", "--cpu", "/bin/true").code, 0)


if __name__ == "__main__":
    cluster.main()
