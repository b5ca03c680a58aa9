// A client with a valid credential that opens streams and resets them at once (rapid reset).

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

enum FrameType : char { kData = 0, kHeaders = 1, kResetStream = 3, kSettings = 4 };

std::string Frame(FrameType type, char flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}

// A header that is not in HPACK's tables.
std::string Literal(const std::string& name, const std::string& value) {
  std::string text(1, '\0');
  for (const std::string& part : {name, value}) {
    text += static_cast<char>(part.size());
    text += part;
  }
  return text;
}

std::string RequestHeaders() {
  return absl::StrCat("\x83\x86",  // :method POST, :scheme http
                      Literal(":path", "/accel.v1.Coordinator/ListNodes"),
                      Literal(":authority", "coordinator"), Literal("te", "trailers"),
                      Literal("content-type", "application/grpc"),
                      Literal("authorization", absl::StrCat("Bearer ", kToken)));
}

class RapidResetTest : public ServiceTest {
 protected:
  RapidResetTest() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::string address = server_->address();
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<in_port_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }

  // Returns false if the connection has been closed.
  bool Send(const std::string& bytes) {
    return send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // Reads what the server has sent. Returns false if it has closed the connection.
  bool Drain() {
    char bytes[65536];
    const ssize_t size = recv(fd_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    return size > 0 || (size < 0 && errno == EAGAIN);
  }

  common::UniqueFd fd_;
};

TEST_F(RapidResetTest, TheConnectionIsCutAndOthersAreServed) {
  constexpr char kEndHeaders = 4;
  constexpr char kEndStream = 1;
  ASSERT_TRUE(Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, 0, 0, ""))));
  // A whole call first, so that the gate counts the connection as one with a valid caller.
  ASSERT_TRUE(Send(absl::StrCat(Frame(kHeaders, kEndHeaders, 1, RequestHeaders()),
                                Frame(kData, kEndStream, 1, std::string(5, '\0')))));
  bool open = true;
  for (uint32_t stream = 3; open && stream < 20'000'000; stream += 200) {
    std::string burst;
    for (uint32_t i = stream; i < stream + 200; i += 2) {
      absl::StrAppend(&burst, Frame(kHeaders, kEndHeaders, i, RequestHeaders()),
                      Frame(kResetStream, 0, i, std::string("\0\0\0\x08", 4)));
    }
    open = Send(burst) && Drain();
  }
  EXPECT_FALSE(open);
  EXPECT_OK(Submit("served"));
}

}  // namespace
}  // namespace accel::coordinator
