"""A round trip of 200 ms and 2 % of lost segments lose no node, with the default limits."""

import json
import time

from tests.e2e import cluster
from tests.e2e.lossy_relay import LossyRelay

NODES = 12
LOSSES = 6
SECONDS = 15


class LossyNetwork(cluster.ClusterTest):
    NODE_TIMEOUT = None
    LISTEN = "127.0.0.1:0"
    AGENTS = 0

    def setUp(self):
        super().setUp()
        self.relay = LossyRelay(self.env["ACCEL_COORDINATOR"], round_trip=0.2, each=50)
        self.addCleanup(self.relay.close)
        through = {"ACCEL_COORDINATOR": self.relay.address}
        self.agents = [self.start_agent(f"n{i + 1}", env=through) for i in range(NODES)]
        self.wait_for_nodes(NODES)

    def connected(self):
        return sum(node.get("connected", False) for node in json.loads(self.accel("nodes", "--json").out)["nodes"])

    def test_no_node_is_lost_falsely(self):
        job = self.accel("submit", "--cpu", "--nodes", NODES, self.script("touch up.$RANK; until [ -e go ]; do sleep 0.1; done"))
        job = job.out.split()[0]
        cluster.wait_until(lambda: all(self.path(f"up.{rank}").exists() for rank in range(NODES)), 60, "all ranks run")
        begin, before = time.monotonic(), self.relay.lost
        while time.monotonic() < begin + SECONDS or self.relay.lost < before + LOSSES:
            self.assertEqual(self.connected(), NODES)
            self.assertLess(time.monotonic(), begin + 8 * SECONDS, f"only {self.relay.lost - before} segments were lost")
            time.sleep(0.05)  # The polling interval.
        print(f"{self.relay.lost} of {self.relay.segments} segments were lost")
        self.path("go").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job ends well")
        [status] = self.jobs(job)
        self.assertEqual((len(status["generations"]), status.get("membership_changes", 0)), (1, 0), status)
        self.assertNotIn("agent's stream", self.log("coordinator"))


if __name__ == "__main__":
    cluster.main()
