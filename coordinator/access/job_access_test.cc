#include "coordinator/access/job_access.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

const Caller kAnn = {CallerKind::kUser, "ann", "02", Role::kUser};

TEST(JobAccessTest, OwnersAndAdministratorsOwnAJob) {
  EXPECT_TRUE(Owns(kAnn, "ann"));
  EXPECT_FALSE(Owns(kAnn, "bob"));
  EXPECT_FALSE(Owns(kAnn, ""));
  EXPECT_TRUE(Owns({CallerKind::kUser, "eve", "01", Role::kAdmin}, "ann"));
  EXPECT_TRUE(Owns(Owner(), ""));
  // A node with the name of a user is not that user.
  EXPECT_FALSE(Owns({CallerKind::kNode, "ann", "05", Role::kAdmin}, "ann"));
  EXPECT_FALSE(Owns({CallerKind::kUser, "", "06", Role::kUser}, ""));
}

TEST(JobAccessTest, OthersSeeNoCommandEnvironmentOrOutput) {
  v1::Job job;
  job.set_job_id("j");
  job.set_submit_id("planted-submit-id");
  job.mutable_spec()->set_owner("ann");
  job.mutable_spec()->add_argv("planted-argument");
  job.mutable_spec()->add_env()->set_value("planted-variable");
  job.mutable_spec()->add_required_paths("/planted-path");
  job.mutable_cause()->add_last_lines("planted-line");
  job.add_generations()->mutable_cause()->add_last_lines("planted-line");
  job.add_generations();
  const v1::Job shown = ForOthers(job);
  EXPECT_EQ(shown.SerializeAsString().find("planted"), std::string::npos);
  EXPECT_EQ(shown.spec().owner(), "ann");
  EXPECT_TRUE(shown.has_cause());
  EXPECT_FALSE(shown.generations(1).has_cause());
  job.clear_cause();
  EXPECT_FALSE(ForOthers(job).has_cause());
}

}  // namespace
}  // namespace accel::coordinator
