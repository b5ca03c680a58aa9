#include "shim/unix_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::shim {
namespace {

using testing::StatusIs;

class UnixSocketTest : public ::testing::Test {
 protected:
  UnixSocketTest() {
    // Deeper than any address of a Unix socket.
    const std::string dir =
        absl::StrCat(getenv("TEST_TMPDIR"), "/", std::string(100, 'a'), "/", std::string(100, 'b'),
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(dir);
    folder_.reset(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  common::UniqueFd folder_;
};

TEST_F(UnixSocketTest, ConnectsInADeepFolder) {
  const auto listener = ListenIn(folder_.get(), "sock");
  ASSERT_OK(listener);
  const auto connection = ConnectIn(folder_.get(), "sock");
  ASSERT_OK(connection);
  const common::UniqueFd accepted(accept(listener->get(), nullptr, nullptr));
  ASSERT_TRUE(accepted.valid());
  EXPECT_TRUE(PeerIsThisUser(accepted.get()));
  ASSERT_EQ(send(connection->get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(recv(accepted.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(UnixSocketTest, SaysThatNoProcessListens) {
  EXPECT_THAT(ConnectIn(folder_.get(), "sock"),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  ListenIn(folder_.get(), "sock").status().IgnoreError();  // Closed again, the file remains.
  EXPECT_THAT(ConnectIn(folder_.get(), "sock"),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_OK(ListenIn(folder_.get(), "sock")) << "the file that remains is replaced";
}

// A listener that accepts nothing, such as a stopped shim, is not taken for one that is gone.
TEST_F(UnixSocketTest, AFullBacklogIsAnotherError) {
  const auto listener = ListenIn(folder_.get(), "sock");
  ASSERT_OK(listener);
  std::vector<common::UniqueFd> waiting;
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    auto connection = ConnectIn(folder_.get(), "sock");
    status = connection.status();
    if (connection.ok()) waiting.push_back(*std::move(connection));
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace accel::shim
