"""Clients and agents find a coordinator again that went away and came back."""

from tests.e2e import cluster, processes


class Reconnect(cluster.ClusterTest):
    def start(self, *command, env=None, **options):
        # gRPC handles a channel that no thread waits for only every 5 s. Here it never does, so a caller that relied on
        # it would wait indefinitely.
        never = {"GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS": "0"}
        return super().start(*command, env={**never, **(env or {})}, **options)

    def kill_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()

    def start_coordinator_again(self):
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])

    def test_an_agent_comes_back(self):
        for _ in range(3):
            self.kill_coordinator()
            self.start_coordinator_again()
            self.wait_for_nodes(1)
        self.assertEqual(self.submit("true").code, 0)

    def test_an_agent_may_be_started_first(self):
        self.kill_coordinator()
        self.agents.append(self.start_agent("n2"))
        cluster.wait_until(lambda: "coordinator unreachable" in self.log("n2"), 60, "the agent looks for its coordinator")
        self.start_coordinator_again()
        self.wait_for_nodes(2)

    def test_a_submit_may_be_started_first(self):
        self.kill_coordinator()
        submit = self.start(cluster.ACCEL, "submit", "--cpu", "--wait", "true")
        processes.wait_for_line(submit, "trying again for 10s")
        self.start_coordinator_again()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, result)

    def test_a_submit_that_waits_comes_back(self):
        submit = self.start(cluster.ACCEL, "submit", "--cpu", "--wait", self.script("touch up; until [ -e go ]; do sleep 0.05; done"))
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        self.kill_coordinator()
        processes.wait_for_line(submit, "trying again until it is back")
        self.start_coordinator_again()
        self.path("go").touch()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, result)
        self.assertIn("the coordinator is back", result.err)


class Storm(cluster.ClusterTest):
    """Many agents lose their coordinator at the same instant."""

    AGENTS = 40

    def test_all_agents_come_back_and_their_jobs_are_undisturbed(self):
        worker = self.script("echo $RANK >> started; until [ -e end ]; do sleep 0.2; done")
        job = self.start(cluster.ACCEL, "submit", "--cpu", "--wait", "--nodes", self.AGENTS, worker)
        cluster.wait_until(lambda: self.jobs() and self.jobs()[0]["phase"] == "RUNNING", 60, "RUNNING")
        for _ in range(3):
            self.coordinator.kill()
            self.coordinator.wait()
            self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])
            # A node is lost if it is silent for longer than its timeout and the grace of a new coordinator.
            self.wait_for_nodes(self.AGENTS)
        self.path("end").touch()
        result = self.finish(job)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(self.path("started").read_text().split()), self.AGENTS)


class StormWithCertificates(Storm):
    LISTEN = "127.0.0.1:0"


if __name__ == "__main__":
    cluster.main()
