#include "security/enrolment/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

// A socket that listens on a free port of 127.0.0.1, and its entry in a list of addresses.
class Listener {
 public:
  Listener() {
    fd_.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(bind(fd_.get(), address, sizeof address_), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(getsockname(fd_.get(), address, &size), 0);
    EXPECT_EQ(listen(fd_.get(), 0), 0);
    entry_.ai_family = AF_INET;
    entry_.ai_addr = address;
    entry_.ai_addrlen = size;
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  addrinfo* entry() { return &entry_; }

  // Makes the kernel drop the packets of further clients, as a route may do.
  void Fill() { client_ = *DialFirst(entry_, common::SteadyClock()->Now() + absl::Seconds(10)); }

 private:
  common::UniqueFd fd_, client_;
  sockaddr_in address_ = {};
  addrinfo entry_ = {};
};

TEST(DialFirstTest, AnAddressThatDropsPacketsLeavesTimeForTheNext) {
  Listener full, good;
  full.Fill();
  full.entry()->ai_next = good.entry();
  const absl::Time begin = common::SteadyClock()->Now();
  EXPECT_OK(DialFirst(*full.entry(), begin + absl::Seconds(2)));
  EXPECT_GE(common::SteadyClock()->Now() - begin, absl::Seconds(1));
}

TEST(DialFirstTest, ReturnsTheErrorOfTheLastAddress) {
  Listener full;
  full.Fill();
  EXPECT_THAT(
      DialFirst(*full.entry(), common::SteadyClock()->Now() + absl::Milliseconds(50)).status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("too slow")));
}

}  // namespace
}  // namespace accel::security
