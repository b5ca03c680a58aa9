// Commands that meet a coordinator of a later version, which sends numbers that have no name here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_test_fixture.h"
#include "cli/commands.h"
#include "common/parse_text.h"

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LaterCoordinatorTest : public CommandTest {
 protected:
  void SetJobs(const std::string& jobs) {
    coordinator_.SetJobs(common::ParseText<v1::ListJobsResponse>(jobs));
  }
};

// A program can still tell the numbers apart.
TEST_F(LaterCoordinatorTest, JsonHasTheNumbers) {
  SetJobs("jobs { job_id: 'b1' phase: 12 cause { exit { kind: 13 } } }");
  const Result result = Invoke(RunStatus, {"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"phase\": 12"));
  EXPECT_THAT(result.out, HasSubstr("\"kind\": 13"));
}

TEST_F(LaterCoordinatorTest, AJobInAnUnknownPhaseCanBeCancelledUntilItHasEnded) {
  SetJobs("jobs { job_id: 'b1' phase: 12 }");
  EXPECT_THAT(Invoke(RunCancel, {"b1"}).err, IsEmpty());
  SetJobs("jobs { job_id: 'b1' phase: 12 ended_unix_ms: 1 }");
  EXPECT_THAT(Invoke(RunCancel, {"b1"}).err, HasSubstr("has already ended: PHASE 12"));
}

TEST_F(LaterCoordinatorTest, NodesInUnknownStatesAreListed) {
  coordinator_.SetNodes(common::ParseText<v1::ListNodesResponse>(
      "nodes { name: 'n1' connected: true drain: 12 version: '9.9' }"));
  const Result result = Invoke(RunNodes, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("drained"));
  EXPECT_THAT(result.out, HasSubstr("9.9"));
}

TEST_F(LaterCoordinatorTest, AWaitEndsWithTheJob) {
  coordinator_.OnWatch({[](const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>* writer,
                           FakeCoordinator*) {
    for (const char* job : {"version: 1 phase: 12", "version: 2 phase: RUNNING",
                            "job_id: 'b1' version: 3 phase: 13 exit_code: 5 ended_unix_ms: 1"}) {
      writer->Write(common::ParseText<v1::Job>(job));
    }
    return grpc::Status::OK;
  }});
  const Result result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("ended in PHASE 13"));
  EXPECT_THAT(coordinator_.watched(), SizeIs(1));
}

}  // namespace
}  // namespace accel::cli
