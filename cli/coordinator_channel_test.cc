#include "cli/coordinator_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "coordinator/calls/http2_frames.h"

namespace accel::cli {
namespace {

constexpr int kLimitSeconds = 20;

// Accepts one connection. Answers so many pings and nothing else.
class QuietServer {
 public:
  explicit QuietServer(int pings_to_answer)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = kLimitSeconds, .tv_usec = 0};
    setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    socklen_t size = sizeof(at);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this, pings_to_answer] { Serve(pings_to_answer); });
  }
  ~QuietServer() {
    if (thread_.joinable()) thread_.join();
  }

  int port() const { return port_; }
  // Returns the number of pings that the client sends until it closes the connection.
  int AwaitPings() {
    thread_.join();
    return pings_;
  }

 private:
  // Returns when the client closes the connection.
  void Serve(int pings_to_answer) {
    const common::UniqueFd connection(accept(listener_.get(), nullptr, nullptr));
    std::string preface;
    if (!coordinator::ReadExactly(connection.get(), coordinator::kPreface.size(), &preface)) return;
    Send(connection.get(), coordinator::Frame(coordinator::kSettings, 0, 0, ""));
    while (const auto frame = coordinator::ReadFrameFrom(connection.get())) {
      if ((frame->flags & coordinator::kAck) != 0) continue;
      if (frame->type == coordinator::kSettings) {
        Send(connection.get(),
             coordinator::Frame(coordinator::kSettings, coordinator::kAck, 0, ""));
      }
      if (frame->type == coordinator::kPing && ++pings_ <= pings_to_answer) {
        Send(connection.get(),
             coordinator::Frame(coordinator::kPing, coordinator::kAck, 0, frame->payload));
      }
    }
  }
  static void Send(int to, const std::string& bytes) {
    send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  const common::UniqueFd listener_;
  int port_ = 0;
  int pings_ = 0;
  std::thread thread_;
};

// By default, gRPC sends only two keep-alives to a peer to which it sends no data.
TEST(CoordinatorChannelTest, AWatchThatOnlyListensNoticesThatTheCoordinatorVanishesLater) {
  QuietServer server(/*pings_to_answer=*/3);
  const grpc::ChannelArguments arguments = CoordinatorChannelArguments(/*keepalive_ms=*/1000);
  grpc::GenericStub stub(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server.port()),
                                                   grpc::InsecureChannelCredentials(), arguments));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kLimitSeconds));
  const grpc::ByteBuffer request;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, "/accel.Test/Watch", request, &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(server.AwaitPings(), 4);
}

}  // namespace
}  // namespace accel::cli
