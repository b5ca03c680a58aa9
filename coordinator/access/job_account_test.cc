#include "coordinator/access/job_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;

const Caller kAnn = {CallerKind::kUser, "ann", "1", Role::kUser};
const Caller kAdmin = {CallerKind::kUser, "adm", "2", Role::kAdmin};
const Caller kRootsOwner = {CallerKind::kOwner, "root", "", Role::kAdmin};

TEST(JobAccountTest, AUsersJobsHaveTheAccountOfTheRecord) {
  EXPECT_EQ(*ChooseAccount(kAnn, "ann_s", ""), "ann_s");
  EXPECT_EQ(*ChooseAccount(kAnn, "ann_s", "ann_s"), "ann_s");
  EXPECT_EQ(*ChooseAccount(kAnn, "", ""), "ann") << "the record names none";
}

TEST(JobAccountTest, AUserMayNameNoOtherAccount) {
  for (const char* other : {"bob", "root", "no name", ""}) {
    if (*other == '\0') continue;
    const absl::Status status = ChooseAccount(kAnn, "ann", other).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << other;
  }
}

TEST(JobAccountTest, AnAdministratorMayNameAnyButRoot) {
  EXPECT_EQ(*ChooseAccount(kAdmin, "adm", "bob"), "bob");
  EXPECT_EQ(*ChooseAccount(kRootsOwner, "", "bob"), "bob");
  EXPECT_TRUE(absl::IsInvalidArgument(ChooseAccount(kAdmin, "adm", "root").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ChooseAccount(kAdmin, "adm", "a b").status()));
}

TEST(JobAccountTest, NoRecordMakesAnyoneRoot) {
  const absl::Status status = ChooseAccount(kAdmin, "root", "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.message(), HasSubstr("do not run as root"));
  EXPECT_FALSE(ChooseAccount({CallerKind::kUser, "root", "3", Role::kUser}, "", "").ok());
}

TEST(JobAccountTest, TheOwnersJobsHaveTheCoordinatorsAccount) {
  EXPECT_EQ(*ChooseAccount(kRootsOwner, "", ""), "root") << "agents decide about it";
  EXPECT_EQ(*ChooseAccount(kRootsOwner, "", "root"), "root");
  EXPECT_EQ(*ChooseAccount(Owner(), "", ""), "") << "within the process nothing changes hands";
}

}  // namespace
}  // namespace accel::coordinator
