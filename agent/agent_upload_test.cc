// Starts that wait for the upload of their job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_fixture.h"
#include "common/wake_fd.h"

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Has the answers that a test has set.
class FakeCode final : public CodeFolders {
 public:
  void Update() override {}
  bool IsKnown(const common::JobId& job) const override { return answers.contains(job); }
  absl::StatusOr<std::string> Find(const common::JobId& job) const override {
    return answers.at(job);
  }
  void Set(const std::vector<CodeRequest>& requests) override {
    waiting.clear();
    for (const CodeRequest& request : requests) waiting.push_back(request.tree);
  }
  int wake_fd() const override { return wake_.get(); }

  std::map<common::JobId, absl::StatusOr<std::string>> answers;
  std::vector<std::string> waiting;

 private:
  common::WakeFd wake_;
};

class AgentUploadTest : public AgentFixture {
 protected:
  AgentUploadTest() {
    Agent::Dependencies with = With(&relays_, &link_);
    with.code = &code_;
    agent_ = std::make_unique<Agent>(
        Agent::Options{.identity = Identity(), .base_env = {}, .jobs_dir = ::testing::TempDir()},
        with);
    desired_ = Start("a");
    desired_.mutable_generations(0)->set_upload("tree");
    link_.Desire(desired_);
  }

  const v1::NodeObserved& Turn() { return AgentFixture::Turn(agent_.get()); }

  NoLogRelays relays_;
  FakeCode code_;
  v1::NodeDesired desired_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentUploadTest, AStartWaitsAndBeginsInTheUpload) {
  EXPECT_EQ(Turn().generations(0).state(), State::STARTING);
  EXPECT_THAT(code_.waiting, ElementsAre("tree"));
  EXPECT_THAT(shims_.starts(), IsEmpty());
  code_.answers[common::JobId("a")] = "/state/jobs/a/code";
  Turn();
  ASSERT_THAT(shims_.starts(), SizeIs(1));
  EXPECT_EQ(shims_.starts()[0].workdir, "/state/jobs/a/code");
  Turn();
  EXPECT_THAT(code_.waiting, IsEmpty());
}

TEST_F(AgentUploadTest, AnotherWorkdirIsKept) {
  desired_.mutable_generations(0)->set_workdir("/data");
  link_.Desire(desired_);
  code_.answers[common::JobId("a")] = "/state/jobs/a/code";
  Turn();
  ASSERT_THAT(shims_.starts(), SizeIs(1));
  EXPECT_EQ(shims_.starts()[0].workdir, "/data");
}

TEST_F(AgentUploadTest, AFailedFetchIsTheNodesFailure) {
  code_.answers[common::JobId("a")] = absl::UnavailableError("the upload did not arrive: gone");
  const v1::ObservedGeneration& part = Turn().generations(0);
  EXPECT_EQ(part.state(), State::ENDED);
  EXPECT_EQ(part.failure().code(), 1);
  EXPECT_THAT(part.failure().message(), HasSubstr("did not arrive"));
  EXPECT_THAT(shims_.starts(), IsEmpty());
}

TEST_F(AgentUploadTest, AStopEndsTheFetch) {
  Turn();
  desired_.set_version(++version_);
  desired_.mutable_generations(0)->set_stop(true);
  link_.Desire(desired_);
  EXPECT_EQ(Turn().generations(0).state(), State::ENDED);
  EXPECT_THAT(code_.waiting, IsEmpty());
}

TEST_F(AgentUploadTest, AFetchOutlivesABrokenSession) {
  Turn();
  link_.SetSession(2);
  Turn();
  EXPECT_THAT(code_.waiting, ElementsAre("tree"));
}

}  // namespace
}  // namespace accel::agent
