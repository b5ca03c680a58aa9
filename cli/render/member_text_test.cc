#include "cli/render/member_text.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

TEST(RenderMembersTest, Golden) {
  const auto list = common::ParseText<v1::ListMembersResponse>(R"(
    members { kind: USER_MEMBER id: "ann" role: ADMIN_ROLE }
    members { kind: USER_MEMBER id: "bob" role: VIEWER_ROLE }
    credentials { serial: "aa" kind: USER_MEMBER member: "ann" label: "laptop"
                  expires_unix_ms: 1807776000000 seen_unix_ms: 1799999940000 }
    credentials { serial: "bb" kind: USER_MEMBER member: "ann" label: "old" state: REVOKED
                  expires_unix_ms: 1807776000000 }
    credentials { serial: "cc" kind: USER_MEMBER member: "ann" label: "older"
                  expires_unix_ms: 1790000000000 }
    tokens { id: "t1" kind: USER_MEMBER member: "bob" uses_left: 1 expires_unix_ms: 1800000900000 }
    tokens { id: "t2" kind: USER_MEMBER member: "ci" uses_left: -1 expires_unix_ms: 1800086400000 }
    tokens { id: "t3" kind: USER_MEMBER member: "bob" uses_left: 0 expires_unix_ms: 1800086400000 }
    tokens { id: "t4" kind: USER_MEMBER member: "bob" uses_left: 1 expires_unix_ms: 1799999999000 }
  )");
  EXPECT_EQ(RenderMembers(list, absl::FromUnixSeconds(1'800'000'000)),
            "NAME  ROLE    STATE              MACHINE  SEEN       EXPIRES     SERIAL\n"
            "ann   admin   valid              laptop   1 min ago  2027-04-15  aa\n"
            "ann   admin   revoked            old      never      2027-04-15  bb\n"
            "ann   admin   expired            older    never      2026-09-21  cc\n"
            "bob   viewer  has not logged in\n"
            "\n"
            "KEY  FOR  USES LEFT  EXPIRES IN\n"
            "t1   bob  1          15 min\n"
            "t2   ci   unlimited  1 d\n");
  EXPECT_EQ(RenderMembers({}, absl::UnixEpoch()), "none yet\n");
}

TEST(RenderCallerTest, Golden) {
  EXPECT_EQ(RenderCaller(common::ParseText<v1::WhoAmIResponse>(
                R"(kind: "owner" role: "admin" cluster_id: "c1")")),
            "the owner of cluster c1, role admin, over the coordinator's own machine\n");
  EXPECT_EQ(RenderCaller(common::ParseText<v1::WhoAmIResponse>(
                R"(kind: "user" name: "ann" role: "user" serial: "aa" cluster_id: "c1")")),
            "user ann of cluster c1, role user, certificate aa\n");
}

}  // namespace
}  // namespace accel::cli
