// Which coordinators an agent obeys (docs/decisions/0042).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/agent_fixture.h"
#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AgentClusterTest : public AgentFixture {
 protected:
  Agent::Options Options(const std::string& cluster) {
    Agent::Options options;
    options.identity = Identity();
    options.jobs_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/jobs");
    options.cluster = cluster;
    options.remember_cluster = [this](const std::string& joined) {
      starts_before_ = shims_.starts().size();
      if (disk_.ok()) stored_.push_back(joined);
      return disk_;
    };
    return options;
  }

  static v1::NodeDesired Of(const std::string& cluster, v1::NodeDesired desired) {
    desired.set_cluster_id(cluster);
    return desired;
  }

  v1::NodeDesired Nothing() {
    v1::NodeDesired nothing;
    nothing.set_incarnation("i1");
    nothing.set_version(++version_);
    return nothing;
  }

  NoLogRelays relays_;
  std::vector<std::string> stored_;
  absl::Status disk_;
  size_t starts_before_ = 9;  // The number of starts when a cluster was stored.
  uint64_t sessions_ = 1;
};

TEST_F(AgentClusterTest, StoresItsClusterBeforeItObeys) {
  Agent agent(Options(""), With(&relays_, &link_));
  disk_ = absl::ResourceExhaustedError("no space left");
  link_.Desire(Of("c1", Start("a")));
  EXPECT_THAT(Turn(&agent).refuses_work(), HasSubstr("no space left"));
  EXPECT_THAT(shims_.starts(), IsEmpty());
  disk_ = absl::OkStatus();
  EXPECT_EQ(Turn(&agent).refuses_work(), "");
  EXPECT_THAT(stored_, ElementsAre("c1"));
  EXPECT_EQ(starts_before_, 0u);
  EXPECT_EQ(shims_.starts().size(), 1u);
  link_.Desire(Of("c1", Start("a")));
  Turn(&agent);
  EXPECT_THAT(stored_, ElementsAre("c1")) << "a disk need not be written for what it has";
}

TEST_F(AgentClusterTest, ACoordinatorOfAnotherClusterEndsNoJob) {
  Agent agent(Options("c1"), With(&relays_, &link_));
  link_.Desire(Of("c1", Start("a")));
  Turn(&agent);
  shims_.ExecDone(common::JobId("a"));
  EXPECT_EQ(Turn(&agent).refuses_work(), "");
  link_.SetSession(++sessions_);
  EXPECT_THAT(Turn(&agent).refuses_work(), HasSubstr("has not yet heard from this coordinator"));
  link_.Desire(Of("c2", Start("b")));
  EXPECT_EQ(Turn(&agent).refuses_work(),
            "belongs to cluster c1 and has 1 job of it, which continues; this is cluster c2");
  EXPECT_THAT(shims_.stops(), IsEmpty());
  EXPECT_EQ(shims_.starts().size(), 1u) << "it takes no work of the other cluster";
  EXPECT_FALSE(shims_.contact()) << "a stranger is no contact with its own coordinator";
  // An agent that starts now does the same.
  FakeLink link;
  Agent next(Options("c1"), With(&relays_, &link));
  link.Desire(Of("c2", Nothing()));
  EXPECT_OK(next.RunOnce());
  EXPECT_THAT(shims_.stops(), IsEmpty());
  link.SetSession(2);
  EXPECT_OK(next.RunOnce());
  link.Desire(Of("c1", Start("a")));
  EXPECT_OK(next.RunOnce());
  EXPECT_EQ(link.reports.back().refuses_work(), "");
  EXPECT_TRUE(shims_.contact());
  link.Desire(Of("c1", Nothing()));
  EXPECT_OK(next.RunOnce());
  EXPECT_EQ(shims_.stops().size(), 1u) << "its own coordinator ends what it does not list";
}

TEST_F(AgentClusterTest, JoinsAnotherClusterOnceNothingIsLeft) {
  Agent agent(Options("c1"), With(&relays_, &link_));
  link_.Desire(Of("c1", Start("a")));
  Turn(&agent);
  shims_.ExecDone(common::JobId("a"));
  Turn(&agent);
  link_.SetSession(++sessions_);
  v1::NodeDesired theirs = Of("c2", Start("b"));
  *theirs.add_forget() = Start("a").generations(0).key();
  link_.Desire(theirs);
  Turn(&agent);
  shims_.ExitAll(common::JobId("a"), {.kind = shim::ExitFact::Kind::kExited, .code = 0});
  EXPECT_THAT(Turn(&agent).refuses_work(), HasSubstr("1 job of it, which has a result to store"));
  EXPECT_EQ(shims_.starts().size(), 1u);
  EXPECT_EQ(link_.reports.back().generations_size(), 1) << "a stranger does not make it forget";
  clock_.Advance(ClusterMembership::kKeepsResults);
  EXPECT_EQ(Turn(&agent).refuses_work(), "");
  EXPECT_EQ(shims_.starts().size(), 2u) << "it has joined the other cluster, and works for it";
}

}  // namespace
}  // namespace accel::agent
