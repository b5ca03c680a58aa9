"""What a network may do with what has been sent: an answer is lost after the coordinator has acted, or bytes come again."""

import contextlib

from tests.e2e import cluster, processes, tcp_relay
from tests.e2e.lossy_relay import LossyRelay

ONE_WAY = 0.5  # Seconds that an answer is on the way, and thus can be lost.


class RepeatingRelay(tcp_relay.TcpRelay):
    """Can send what it has passed on a second time."""

    def __init__(self, target):
        self._newest = {True: {}, False: {}}  # The newest data by its sink: from clients, and from the target.
        super().__init__(target)

    def _copy(self, source, sink, flows):
        super()._copy(source, _Noting(sink, self._newest[flows is self._flows]), flows)

    def repeat(self, from_clients):
        """Sends the newest data of each connection in one direction again. Returns the number of connections."""
        count = 0
        for sink, data in list(self._newest[from_clients].items()):
            with contextlib.suppress(OSError):
                sink.sendall(data)
                count += 1
        return count


class _Noting:
    """The sending side of a socket, whose newest data is kept."""

    def __init__(self, sink, newest):
        self._sink, self._newest = sink, newest
        self.shutdown = sink.shutdown

    def sendall(self, data):
        self._sink.sendall(data)
        self._newest[self._sink] = data


class LostAnswer(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def test_a_submit_whose_answer_is_lost_makes_one_job(self):
        relay = LossyRelay(self.env["ACCEL_COORDINATOR"], round_trip=2 * ONE_WAY, each=1 << 60)
        self.addCleanup(relay.close)
        # ClusterTest.start() would send a submit to the Unix socket. The job waits for a second node, because the user who has
        # logged in has no account on this machine.
        submit = cluster.Test.start(self, cluster.ACCEL, "submit", "--cpu", "--nodes", 2, "/bin/true",
                                    env={"ACCEL_COORDINATOR": relay.address})
        [job] = cluster.wait_until(self.jobs, 60, "the coordinator has the job")
        relay.cut()
        processes.wait_for_line(submit, "trying again for 10s")
        relay.up()
        result = self.finish(submit)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.out.split(), [job["job_id"]])
        self.assertEqual([each["job_id"] for each in self.jobs()], [job["job_id"]])


class Repeated(cluster.ClusterTest):
    """The agent reaches the coordinator through a relay, which sends its newest bytes again."""

    LISTEN = "127.0.0.1:0"
    AGENTS = 0

    def setUp(self):
        super().setUp()
        self.relay = RepeatingRelay(self.env["ACCEL_COORDINATOR"])
        self.addCleanup(self.relay.close)
        self.agents = [self.start_agent("n1", env={"ACCEL_COORDINATOR": self.relay.address})]
        self.wait_for_nodes(1)

    def connections(self):
        return self.log("n1").count("connected to the coordinator")

    def check(self, from_clients):
        """The connection ends, because its bytes are not those that its sender has numbered. Its job is undisturbed."""
        job = self.accel("submit", "--cpu", self.script("echo $$ >> pid; until [ -e end ]; do sleep 0.05; done")).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "RUNNING")
        for count in (1, 2, 3):
            self.assertEqual(self.connections(), count)
            self.assertGreaterEqual(self.relay.repeat(from_clients), 1)
            cluster.wait_until(lambda: self.connections() > count, 60, "the agent connects again")
            self.wait_for_nodes(1)
        self.assertTrue(cluster.is_alive(worker))
        self.path("end").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job ends well")
        [status] = self.jobs(job)
        self.assertEqual((len(status["generations"]), status["membership_changes"]), (1, 0), status)
        self.assertEqual(self.path("pid").read_text().split(), [str(worker)])
        # The receiver logs what it has refused. It counts repetitions in one line.
        self.assertIn('gRPC reports what="Corruption detected." others_since=', self.log("coordinator" if from_clients else "n1"))

    def test_reports_of_the_agent(self):
        self.check(from_clients=True)

    def test_commands_of_the_coordinator(self):
        self.check(from_clients=False)


if __name__ == "__main__":
    cluster.main()
