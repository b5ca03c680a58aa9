// When the window of a stream is announced (third_party/grpc/flow_control.cc), and that all
// messages arrive nevertheless.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "coordinator/calls/call_server.h"
#include "coordinator/calls/echo_fixture.h"
#include "coordinator/calls/handler.h"
#include "coordinator/calls/http2_frames.h"

namespace accel::coordinator {
namespace {

constexpr int kWindow = 65'535;  // A new stream has this one (RFC 9113, section 6.9.2).
constexpr size_t kLargestFrame = 16'384;
constexpr int kLargestMessage = 1 << 20;
constexpr int kLimitSeconds = 20;  // For each wait of a test.

// Number of messages that a server has taken and after which it has begun to read the next one.
class Taken {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  bool Await(int count) {
    absl::MutexLock lock(&mutex_);
    auto reached = [this, count]()
                       ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&reached), absl::Seconds(kLimitSeconds));
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Taker final : public CallReactor {
 public:
  Taker(ServerCall* call, Taken* taken) : call_(*call), taken_(*taken) {
    call_.StartRead(&message_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return call_.Finish(absl::OkStatus());
    call_.StartRead(&message_);
    taken_.Add();
  }

 private:
  ServerCall& call_;
  Taken& taken_;
  grpc::ByteBuffer message_;
};

class TestServer {
 public:
  // `initial_window` in bytes.
  explicit TestServer(int initial_window) {
    Handlers handlers;
    HandlerAdder(this, "accel.Test", &handlers)
        .Add("Take", &TestServer::Take)
        .Add("Echo", &TestServer::Repeat);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(kLargestMessage);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, initial_window);
    calls_ = std::make_unique<CallServer>(std::move(handlers), &builder);
    server_ = builder.BuildAndStart();
    calls_->Start();
  }
  ~TestServer() { calls_->Stop(server_.get(), std::chrono::system_clock::now()); }

  int port() const { return port_; }
  Taken& taken() { return taken_; }

 private:
  void Take(ServerCall* call) { call->React(std::make_unique<Taker>(call, &taken_)); }
  void Repeat(ServerCall* call) { call->React(std::make_unique<Echo>(call)); }

  Taken taken_;
  int port_ = 0;
  std::unique_ptr<CallServer> calls_;
  std::unique_ptr<grpc::Server> server_;
};

// A client that writes the frames of one call of Take itself.
class FrameClient {
 public:
  explicit FrameClient(int port) : fd_(ConnectTo(port)) {
    const timeval limit{.tv_sec = kLimitSeconds, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    Send(absl::StrCat(kPreface, Frame(kSettings, 0, 0, ""),
                      Frame(kHeaders, kEndHeaders, 1, RequestHeaders("http", "/accel.Test/Take"))));
  }

  // Sends the first `bytes` bytes of a message of `size` bytes. Five more are gRPC's.
  void SendMessage(int size, int bytes) {
    std::string message(1, '\0');
    for (const int shift : {24, 16, 8, 0}) message += static_cast<char>(size >> shift);
    message.append(static_cast<size_t>(bytes), 'x');
    for (size_t begin = 0; begin < message.size(); begin += kLargestFrame) {
      Send(Frame(kData, 0, 1, message.substr(begin, kLargestFrame)));
    }
    window_ -= static_cast<int>(message.size());
  }
  // How much the server still lets it send on the stream, as far as it has read the server's
  // frames.
  int window() const { return window_; }
  int announcements() const { return announcements_; }

  // Reads what the server writes before it answers a ping. Returns false if it answers none.
  bool ReadUntilPong() {
    Send(Frame(kPing, 0, 0, std::string(8, 'p')));
    return ReadUntil([](const ReceivedFrame& frame) {
      return frame.type == kPing && (frame.flags & kAck) != 0;
    });
  }
  // Waits until the server announces the window of the stream. Returns false if it does not.
  bool AwaitAnnouncement() { return ReadUntil(IsAnnouncement); }

 private:
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Reads until after the first frame for which is_last(frame) is true.
  template <typename IsLast>
  bool ReadUntil(IsLast is_last) {
    while (const auto frame = ReadFrameFrom(fd_.get())) {
      if (IsAnnouncement(*frame)) {
        uint32_t more = 0;
        for (const char byte : frame->payload) more = more << 8 | static_cast<unsigned char>(byte);
        window_ += static_cast<int>(more);
        ++announcements_;
      }
      if (is_last(*frame)) return true;
    }
    return false;
  }
  static bool IsAnnouncement(const ReceivedFrame& frame) {
    return frame.type == kWindowUpdate && frame.on_stream;
  }

  const common::UniqueFd fd_;
  int window_ = kWindow;
  int announcements_ = 0;
};

class WindowUpdateTest : public ::testing::Test {
 protected:
  WindowUpdateTest() {
    // The server still writes what belongs to a new connection. It has announced the whole window
    // when it answers a second ping.
    SendMessages(1);
    EXPECT_TRUE(client_.ReadUntilPong());
    EXPECT_TRUE(client_.ReadUntilPong());
    EXPECT_GE(client_.window(), kWindow);
  }

  // Sends messages of 1000 bytes each, and waits until the server has taken them.
  void SendMessages(int messages) {
    for (int i = 0; i < messages; ++i) client_.SendMessage(995, 995);
    sent_ += messages;
    ASSERT_TRUE(server_.taken().Await(sent_));
  }

  TestServer server_{kWindow};
  FrameClient client_{server_.port()};
  int sent_ = 0;
};

TEST_F(WindowUpdateTest, AWindowIsAnnouncedWhenHalfOfItIsUsed) {
  for (int i = 0; i < 32; ++i) SendMessages(1);
  ASSERT_GT(client_.window(), kWindow / 2);
  SendMessages(1);
  ASSERT_TRUE(client_.AwaitAnnouncement());
  EXPECT_GE(client_.window(), kWindow);
}

TEST_F(WindowUpdateTest, AWindowIsAnnouncedEarlierOnlyWithWhatIsWrittenAnyway) {
  const int before = client_.announcements();
  SendMessages(20);
  ASSERT_TRUE(client_.ReadUntilPong());
  EXPECT_EQ(client_.announcements(), before);
  ASSERT_TRUE(client_.AwaitAnnouncement());
  EXPECT_GE(client_.window(), kWindow);
}

TEST_F(WindowUpdateTest, AMessageLargerThanWhatIsLeftOfTheWindowIsAnnounced) {
  SendMessages(30);
  const int first = client_.window() - 5;
  client_.SendMessage(100'000, first);
  ASSERT_TRUE(client_.AwaitAnnouncement());
  EXPECT_GE(client_.window(), 100'000 - first);
}

struct Windows {
  int initial;  // In bytes, of the server, and of the client if it does not probe.
  bool probe;   // The client finds a size by itself.
};

class Echoes : public ::testing::TestWithParam<Windows> {};

// gRPC has no window below 5 bytes. Small windows fill up before half of gRPC's default is used.
INSTANTIATE_TEST_SUITE_P(Windows, Echoes,
                         ::testing::Values(Windows{kWindow, true}, Windows{kWindow, false},
                                           Windows{100, false}, Windows{5, false}));

TEST_P(Echoes, MessagesOfAllSizesArrive) {
  TestServer server(GetParam().initial);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, GetParam().probe ? 1 : 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, GetParam().initial);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  grpc::GenericStub stub(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server.port()),
                                                   grpc::InsecureChannelCredentials(), arguments));
  grpc::ByteBuffer received;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kLimitSeconds));
  const auto stream = stub.PrepareCall(&context, "/accel.Test/Echo", &queue);
  const absl::Cleanup end = [&] {
    context.TryCancel();
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
  };
  stream->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const uint32_t below = 1u << (random() % 21);
    const grpc::Slice sent(std::string(random() % below, static_cast<char>('a' + i % 26)));
    stream->Write(grpc::ByteBuffer(&sent, 1), nullptr);
    stream->Read(&received, nullptr);
    for (int done = 0; done < 2; ++done) ASSERT_TRUE(queue.Next(&tag, &ok) && ok) << i;
    grpc::Slice echoed;
    ASSERT_TRUE(received.DumpToSingleSlice(&echoed).ok());
    ASSERT_EQ(std::string(echoed.begin(), echoed.end()), std::string(sent.begin(), sent.end()));
  }
}

}  // namespace
}  // namespace accel::coordinator
