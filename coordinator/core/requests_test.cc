#include "coordinator/core/requests.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/planner.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class RequestsTest : public ::testing::Test {
 protected:
  absl::StatusOr<common::JobId> Submit(const std::string& owner, size_t argument_bytes = 1) {
    v1::JobSpec spec;
    spec.add_argv(std::string(argument_bytes, 'x'));
    spec.set_nodes(1);
    spec.set_owner(owner);
    return SubmitJob(absl::StrCat("s", ++submits_), std::move(spec), now_, &state_, &changes_);
  }

  // Submits until the user is refused. Returns how many jobs that were.
  int SubmitUntilRefused(const std::string& owner) {
    for (int jobs = 0;; ++jobs) {
      if (!Submit(owner).ok()) return jobs;
    }
  }

  void End(const common::JobId& job) {
    ASSERT_OK(CancelJob(job, /*at_once=*/false, &state_, &changes_));
    PlanToRest(now_, now_, &state_, &changes_);
  }

  const absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  Changes changes_;
  int submits_ = 0;
};

TEST_F(RequestsTest, TheQueueIsBounded) {
  state_.limits.max_unfinished_jobs = 2;
  const auto first = Submit("");
  ASSERT_OK(first);
  ASSERT_OK(Submit(""));
  EXPECT_THAT(Submit(""),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the queue is full")));
  End(*first);
  EXPECT_OK(Submit(""));
}

TEST_F(RequestsTest, TheBytesOfJobsAreBounded) {
  state_.limits.max_job_bytes = 12'000;
  ASSERT_OK(Submit("", 4'000));
  EXPECT_THAT(Submit("", 4'000), StatusIs(absl::StatusCode::kResourceExhausted,
                                          HasSubstr("at most 12000 bytes of jobs in memory")));
  EXPECT_OK(Submit("", 1));
}

TEST_F(RequestsTest, NoUserFillsTheQueueAlone) {
  state_.limits.max_unfinished_jobs = 1'000;
  state_.owner = "op";
  EXPECT_EQ(SubmitUntilRefused("ann"), 900);
  EXPECT_THAT(Submit("ann"), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("you have 900 that wait or run")));
  EXPECT_EQ(SubmitUntilRefused("bob"), 10);
  EXPECT_EQ(SubmitUntilRefused("eve"), 10);
  // The owner of the coordinator may use all that is left.
  EXPECT_EQ(SubmitUntilRefused("op"), 80);
}

TEST_F(RequestsTest, AUserWhoseJobsHaveEndedSubmitsAgain) {
  state_.limits.max_unfinished_jobs = 1'000;
  state_.owner = "op";
  const auto first = Submit("ann");
  ASSERT_OK(first);
  EXPECT_EQ(SubmitUntilRefused("ann"), 899);
  End(*first);
  EXPECT_EQ(SubmitUntilRefused("ann"), 1);
}

}  // namespace
}  // namespace accel::coordinator
