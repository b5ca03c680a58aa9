#include "agent/find_shim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

class FindShimTest : public ::testing::Test {
 protected:
  FindShimTest() { unsetenv("ACCEL_SHIM"); }

  static std::string File(const std::string& name, bool executable) {
    const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
    std::ofstream(path) << "x";
    std::filesystem::permissions(
        path, executable ? std::filesystem::perms::owner_all : std::filesystem::perms::owner_read);
    return path;
  }
};

TEST_F(FindShimTest, TheFlagComesFirst) {
  setenv("ACCEL_SHIM", File("by_variable", true).c_str(), 1);
  const std::string flag = File("by_flag", true);
  EXPECT_EQ(*FindShim(flag), flag);
  EXPECT_EQ(*FindShim(""), File("by_variable", true));
}

TEST_F(FindShimTest, AWrongFlagOrVariableIsAnErrorAndNotSkipped) {
  const std::string plain = File("plain", false);
  EXPECT_THAT(FindShim(plain),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("--shim"), HasSubstr(plain))));
  setenv("ACCEL_SHIM", "/no/such/shim", 1);
  EXPECT_THAT(FindShim(""), StatusIs(absl::StatusCode::kNotFound, HasSubstr("ACCEL_SHIM names")));
}

}  // namespace
}  // namespace accel::agent
