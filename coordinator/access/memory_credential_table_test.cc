#include "coordinator/access/memory_credential_table.h"

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const Caller kAnn = {CallerKind::kUser, "ann", "07", Role::kUser};

TEST(MemoryCredentialTableTest, ANewRoleHoldsForTheNextCall) {
  MemoryCredentialTable table;
  table.Put(kAnn);
  ASSERT_OK_AND_ASSIGN(const Caller before, table.Find("07"));
  EXPECT_EQ(before, kAnn);
  Caller admin = kAnn;
  admin.role = Role::kAdmin;
  table.Put(admin);
  ASSERT_OK_AND_ASSIGN(const Caller after, table.Find("07"));
  EXPECT_TRUE(IsAdmin(after));
}

TEST(MemoryCredentialTableTest, SaysWhyACertificateIsRefused) {
  MemoryCredentialTable table;
  EXPECT_THAT(table.Find("07"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("no certificate")));
  table.Put(kAnn);
  table.Revoke("07");
  EXPECT_THAT(table.Find("07"), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("revoked")));
}

TEST(CallerTest, OnlyTheOwnerAndAdministratorsMayDoEverything) {
  EXPECT_TRUE(IsAdmin({CallerKind::kOwner, "root", "", Role::kAdmin}));
  EXPECT_FALSE(IsAdmin(kAnn));
  EXPECT_FALSE(IsAdmin({CallerKind::kNode, "n1", "08", Role::kAdmin}));
}

}  // namespace
}  // namespace accel::coordinator
