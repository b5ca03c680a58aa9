#include "cli/render/node_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

TEST(RenderNodes, Golden) {
  const auto nodes = common::ParseText<v1::ListNodesResponse>(R"(
      nodes {
        node_id: "n-1" name: "a" address: "127.0.0.1" version: "0.1.0" connected: true
        inventory { cpus: 64 memory_bytes: 540000000000
                    gpus { index: 0 } gpus { index: 1 } gpus { index: 2 } gpus { index: 3 } }
        running { job_id: "a0x2k9fq" generation: 2 } running { job_id: "a0x2k9fr" generation: 1 }
        gpus_in_use: 0 gpus_in_use: 1 gpus_in_use: 3
      }
      nodes {
        name: "node-b" address: "10.0.0.2" version: "0.1.0" connected: true
        inventory { cpus: 2 memory_bytes: 8000000000 } refuses_work: "64 results wait\033[2J"
      }
      nodes { name: "c" address: "10.0.0.3" version: "0.1.0" })");
  EXPECT_EQ(
      RenderNodes(nodes),
      R"(NODE    ADDRESS    STATE              CPUS     MEMORY  GPUS  VERSION  JOBS                    REASON
a       127.0.0.1  ready                64  502.9 GiB   3/4  0.1.0    a0x2k9fq/2, a0x2k9fr/1  -
node-b  10.0.0.2   takes no new work     2    7.5 GiB     0  0.1.0    -                       64 results wait\x1b[2J
c       10.0.0.3   not connected         0        0 B     0  0.1.0    -                       -
)");
}

TEST(RenderNodes, SaysWhenANodeIsLost) {
  v1::ListNodesResponse nodes;
  nodes.add_nodes()->set_name("a");
  nodes.set_heartbeat_ms(1200);
  nodes.set_node_timeout_ms(3000);
  EXPECT_THAT(RenderNodes(nodes),
              ::testing::EndsWith(
                  "A node reports at least every 1.2s, and is lost after 3s of silence.\n"));
}

TEST(RenderNodes, ANodeIsDrainingUntilNoJobRunsOnIt) {
  v1::ListNodesResponse nodes;
  v1::NodeStatus* node = nodes.add_nodes();
  node->set_connected(true);
  node->set_drain(v1::FINISH_JOBS);
  EXPECT_THAT(RenderNodes(nodes), ::testing::HasSubstr(" drained "));
  node->add_running()->set_job_id("a0x2k9fq");
  EXPECT_THAT(RenderNodes(nodes), ::testing::HasSubstr(" draining "));
}

TEST(RenderNodes, SaysWhereJobsOfAllUsersRunAsOne) {
  v1::ListNodesResponse nodes;
  for (const char* name : {"a", "b", "c"}) nodes.add_nodes()->set_name(name);
  nodes.mutable_nodes(0)->set_runs_all_as("accel");
  nodes.mutable_nodes(2)->set_runs_all_as("accel");
  EXPECT_THAT(RenderNodes(nodes),
              ::testing::EndsWith(
                  "Jobs of all users run as accel on a, c, where the agent is not root.\n"));
}

TEST(RenderNodes, SaysThatThereAreNoNodes) { EXPECT_EQ(RenderNodes({}), "no nodes\n"); }

}  // namespace
}  // namespace accel::cli
