#include "coordinator/job_versions.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace accel::coordinator {
namespace {

using Version = std::shared_ptr<const v1::Job>;

class JobVersionsTest : public ::testing::Test {
 protected:
  JobVersionsTest() {
    job_.set_job_id("j");
    job_.mutable_spec()->add_argv("train");
    job_.set_version(1);
  }

  // Makes a version. Checks that it equals the job, and that the job is as it was.
  Version Next(const std::set<common::Generation>& changed) {
    const std::string before = job_.SerializeAsString();
    Version version = versions_.Next(changed, &job_);
    EXPECT_EQ(job_.SerializeAsString(), before);
    EXPECT_EQ(version->SerializeAsString(), before);
    return version;
  }

  v1::GenerationRecord* AddGeneration() {
    v1::GenerationRecord* const record = job_.add_generations();
    record->set_generation(++generations_);
    record->add_placements()->set_node_id("a");
    return record;
  }

  v1::Job job_;
  JobVersions versions_;
  int generations_ = 0;
};

TEST_F(JobVersionsTest, VersionsShareWhatDoesNotChange) {
  AddGeneration();
  const Version first = Next({1});
  AddGeneration();
  job_.set_version(2);
  const Version second = Next({2});
  EXPECT_EQ(&first->spec(), &second->spec());
  EXPECT_EQ(&first->generations(0), &second->generations(0));
  job_.mutable_generations(1)->set_exit_code(3);
  const Version third = Next({2});
  EXPECT_EQ(&first->generations(0), &third->generations(0));
  EXPECT_NE(&second->generations(1), &third->generations(1));
}

TEST_F(JobVersionsTest, AVersionNeverChanges) {
  AddGeneration();
  const Version first = Next({1});
  const std::string before = first->SerializeAsString();
  job_.mutable_generations(0)->set_exit_code(3);
  job_.mutable_generations(0)->mutable_placements(0)->set_node_id("b");
  job_.set_reason("changed");
  const Version second = Next({1});
  AddGeneration();
  job_.mutable_generations()->DeleteSubrange(0, 1);
  Next({1, 2});
  EXPECT_EQ(first->SerializeAsString(), before);
  EXPECT_EQ(second->generations(0).placements(0).node_id(), "b");
}

TEST_F(JobVersionsTest, AGenerationThatComesAgainIsNew) {
  AddGeneration();
  const Version first = Next({1});
  job_.clear_generations();
  Next({1});
  generations_ = 0;
  AddGeneration()->set_exit_code(3);
  EXPECT_EQ(Next({})->generations(0).exit_code(), 3);
}

TEST_F(JobVersionsTest, AVersionOutlivesTheOthersAndTheJob) {
  Version last;
  {
    v1::Job job = job_;
    job.add_generations()->set_generation(1);
    JobVersions versions;
    const Version first = versions.Next({1}, &job);
    job.set_version(2);
    last = versions.Next({}, &job);
    EXPECT_EQ(first->generations(0).generation(), 1);
  }
  EXPECT_EQ(last->spec().argv(0), "train");
  EXPECT_EQ(last->generations(0).generation(), 1);
  EXPECT_EQ(last->version(), 2u);
}

TEST_F(JobVersionsTest, AJobMayHaveNoSpec) {
  job_.clear_spec();
  EXPECT_FALSE(Next({})->has_spec());
}

}  // namespace
}  // namespace accel::coordinator
