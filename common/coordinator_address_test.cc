#include "common/coordinator_address.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class CoordinatorAddressTest : public ::testing::Test {
 protected:
  CoordinatorAddressTest() {
    unsetenv("ACCEL_COORDINATOR");
    setenv("HOME", "/home/ann", 1);
    unsetenv("XDG_RUNTIME_DIR");
  }
  // Returns the default path of this test's user, who may be root.
  static std::string Default(const std::string& of_a_user) {
    return geteuid() == 0 ? "/run/accel/coordinator" : of_a_user;
  }
};

TEST_F(CoordinatorAddressTest, ParsesBothForms) {
  ASSERT_OK_AND_ASSIGN(const auto local, ParseCoordinatorAddress("unix:/run/accel/coordinator"));
  EXPECT_TRUE(local.is_local());
  EXPECT_EQ(local.socket, "/run/accel/coordinator");
  ASSERT_OK_AND_ASSIGN(const auto tcp, ParseCoordinatorAddress("[::1]:7337"));
  EXPECT_FALSE(tcp.is_local());
  EXPECT_EQ(tcp.tcp.host, "::1");
}

TEST_F(CoordinatorAddressTest, RefusesPathsThatNoSocketCanHave) {
  EXPECT_THAT(ParseCoordinatorAddress("unix:run"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_OK(ParseCoordinatorAddress(absl::StrCat("unix:/", std::string(106, 'x'))));
  EXPECT_THAT(ParseCoordinatorAddress(absl::StrCat("unix:/", std::string(107, 'x'))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("108 bytes; at most 107")));
  EXPECT_THAT(ParseCoordinatorAddress("somewhere"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")));
}

TEST_F(CoordinatorAddressTest, ClientsLookWhereTheCoordinatorListens) {
  ASSERT_OK_AND_ASSIGN(const std::string found, FindCoordinator(""));
  ASSERT_OK_AND_ASSIGN(const std::string path, FindSocketPath(""));
  EXPECT_EQ(found, absl::StrCat("unix:", path));
  EXPECT_EQ(path, Default("/home/ann/.config/accel/run/coordinator"));
  setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
  EXPECT_EQ(FindSocketPath("").value(), Default("/run/user/1000/accel/coordinator"));
}

TEST_F(CoordinatorAddressTest, TheFlagComesBeforeTheVariable) {
  setenv("ACCEL_COORDINATOR", "unix:/tmp/c", 1);
  EXPECT_EQ(FindCoordinator("head:7337").value(), "head:7337");
  EXPECT_EQ(FindCoordinator("").value(), "unix:/tmp/c");
  EXPECT_EQ(FindSocketPath("/tmp/d").value(), "/tmp/d");
  EXPECT_EQ(FindSocketPath("").value(), "/tmp/c");
  // A coordinator whose user works with another cluster listens at the default path.
  setenv("ACCEL_COORDINATOR", "head:7337", 1);
  EXPECT_EQ(FindSocketPath("").value(), Default("/home/ann/.config/accel/run/coordinator"));
}

}  // namespace
}  // namespace accel::common
