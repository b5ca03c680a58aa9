#include "coordinator/calls/call_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/grpc_status.h"
#include "common/status_matchers.h"
#include "coordinator/calls/echo_fixture.h"

namespace accel::coordinator {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string Text(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  return bytes.DumpToSingleSlice(&slice).ok() ? std::string(slice.begin(), slice.end()) : "";
}

// A call of a client. Each function waits until its operation is done.
class ClientCall {
 public:
  ClientCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             std::chrono::milliseconds limit = std::chrono::seconds(30))
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + limit);
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    Wait();
  }
  ~ClientCall() {
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  bool Write(const std::string& text) {
    stream_->Write(Bytes(text), this);
    return Wait();
  }
  bool Leave() {
    stream_->WritesDone(this);
    return Wait();
  }
  // Returns "" if there is no other message.
  std::string Read() {
    grpc::ByteBuffer message;
    stream_->Read(&message, this);
    return Wait() ? Text(message) : "";
  }
  absl::Status Finish() {
    grpc::Status status;
    stream_->Finish(&status, this);
    Wait();
    return common::FromGrpc(status);
  }
  void Cancel() { context_.TryCancel(); }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

// Writes from another thread while it reads. Counts the events that came while another was handled.
class Busy final : public CallReactor {
 public:
  Busy(ServerCall* call, std::atomic<int>* overlaps) : call_(*call), overlaps_(*overlaps) {
    call_.StartRead(&message_);
    writer_ = std::thread([this] { call_.StartWrite(Bytes("news")); });
  }
  ~Busy() override { writer_.join(); }

  void OnReadDone(bool ok) override {
    Handle();
    if (ok) return call_.StartRead(&message_);
    left_ = true;
    FinishIfDone();
  }
  void OnWriteDone(bool) override {
    Handle();
    if (++written_ < 200) return call_.StartWrite(Bytes("news"));
    FinishIfDone();
  }

 private:
  void Handle() {
    if (handling_.exchange(true)) ++overlaps_;
    std::this_thread::yield();
    handling_ = false;
  }

  void FinishIfDone() {
    if (left_ && written_ == 200) call_.Finish(absl::OkStatus());
  }

  ServerCall& call_;
  std::atomic<int>& overlaps_;
  grpc::ByteBuffer message_;
  std::thread writer_;
  std::atomic<bool> handling_{false};
  bool left_ = false;
  int written_ = 0;
};

// Waits, and notes what happens.
class Waiting final : public CallReactor {
 public:
  struct Events {
    absl::Notification begun;
    absl::Notification cancelled;
    absl::Notification deleted;
    ServerCall* call = nullptr;
  };

  Waiting(ServerCall* call, Events* events) : events_(*events) {
    events_.call = call;
    events_.begun.Notify();
  }
  ~Waiting() override { events_.deleted.Notify(); }
  void OnCancel() override { events_.cancelled.Notify(); }

 private:
  Events& events_;
};

// With as many queues as the parameter says.
class CallServerTest : public ::testing::TestWithParam<unsigned> {
 protected:
  CallServerTest() {
    Handlers handlers;
    HandlerAdder(this, "accel.Test", &handlers)
        .Add("Greet", &CallServerTest::Greet)
        .Add("Echo", &CallServerTest::Repeat)
        .Add("Wait", &CallServerTest::Wait)
        .Add("Busy", &CallServerTest::BeBusy);
    grpc::ServerBuilder builder;
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const std::string address = absl::StrCat("unix:", folder_, "/socket");
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    calls_ = std::make_unique<CallServer>(std::move(handlers), &builder, GetParam());
    server_ = builder.BuildAndStart();
    calls_->Start();
    channel_ = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  ~CallServerTest() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Stop() {
    if (server_ == nullptr) return;
    calls_->Stop(server_.get(), std::chrono::system_clock::now());
    server_.reset();
  }

  void Greet(ServerCall* call) {
    call->ReadRequest([call](const grpc::ByteBuffer& request) {
      const std::string name = Text(request);
      if (name.empty()) return call->Finish(absl::InvalidArgumentError("a greeting needs a name"));
      call->FinishWith(Bytes("hello " + name));
    });
  }
  void Repeat(ServerCall* call) { call->React(std::make_unique<Echo>(call)); }
  void Wait(ServerCall* call) { call->React(std::make_unique<Waiting>(call, &events_)); }
  void BeBusy(ServerCall* call) { call->React(std::make_unique<Busy>(call, &overlaps_)); }

  static constexpr int kMaxMessageBytes = 1 << 20;

  std::string folder_ = "/tmp/calls.XXXXXX";
  Waiting::Events events_;
  std::atomic<int> overlaps_{0};
  std::unique_ptr<CallServer> calls_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

INSTANTIATE_TEST_SUITE_P(Queues, CallServerTest, ::testing::Values(1, 3));

TEST_P(CallServerTest, AMethodWithOneRequestIsServedWithItsMessage) {
  ClientCall call(channel_, "/accel.Test/Greet");
  EXPECT_TRUE(call.Write("rank 0"));
  EXPECT_EQ(call.Read(), "hello rank 0");
  EXPECT_OK(call.Finish());
}

TEST_P(CallServerTest, AHandlerRefusesWithItsStatus) {
  ClientCall call(channel_, "/accel.Test/Greet");
  EXPECT_TRUE(call.Write(""));
  EXPECT_EQ(call.Read(), "");
  EXPECT_EQ(call.Finish(), absl::InvalidArgumentError("a greeting needs a name"));
}

TEST_P(CallServerTest, ACallWithoutItsRequestIsRefused) {
  ClientCall call(channel_, "/accel.Test/Greet");
  EXPECT_TRUE(call.Leave());
  EXPECT_EQ(call.Finish(), absl::InvalidArgumentError("the call has no request"));
}

TEST_P(CallServerTest, AnUnknownMethodIsRefused) {
  for (const char* const method : {"/accel.Test/Wave", "/accel.Other/Greet", "/"}) {
    ClientCall call(channel_, method);
    EXPECT_EQ(call.Finish(), absl::UnimplementedError("there is no such method"));
  }
}

TEST_P(CallServerTest, AStreamEndsWhenItsCallerHasNoMoreMessages) {
  ClientCall call(channel_, "/accel.Test/Echo");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(call.Write(absl::StrCat("message ", i)));
    EXPECT_EQ(call.Read(), absl::StrCat("message ", i));
  }
  EXPECT_TRUE(call.Leave());
  EXPECT_OK(call.Finish());
}

// Many more than a queue is ready to take at once.
TEST_P(CallServerTest, ThousandStreamsAreServedAtOnce) {
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (int i = 0; i < 1'000; ++i) {
    calls.push_back(std::make_unique<ClientCall>(channel_, "/accel.Test/Echo"));
    ASSERT_TRUE(calls.back()->Write(absl::StrCat("call ", i)));
  }
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(calls[i]->Read(), absl::StrCat("call ", i));
}

TEST_P(CallServerTest, TheEventsOfACallComeOneAtATime) {
  ClientCall call(channel_, "/accel.Test/Busy");
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(call.Write("report"));
    EXPECT_EQ(call.Read(), "news");
  }
  EXPECT_TRUE(call.Leave());
  EXPECT_OK(call.Finish());
  EXPECT_EQ(overlaps_, 0);
}

TEST_P(CallServerTest, ACallWhoseCallerHasGoneIsKeptUntilItsHandlerFinishes) {
  ClientCall call(channel_, "/accel.Test/Wait");
  events_.begun.WaitForNotification();
  call.Cancel();
  events_.cancelled.WaitForNotification();
  EXPECT_FALSE(events_.deleted.HasBeenNotified());
  events_.call->Finish(absl::OkStatus());
  events_.deleted.WaitForNotification();
}

TEST_P(CallServerTest, ACallWhoseTimeIsOverIsCancelled) {
  ClientCall call(channel_, "/accel.Test/Wait", std::chrono::milliseconds(100));
  events_.cancelled.WaitForNotification();
  events_.call->Finish(absl::OkStatus());
  events_.deleted.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(call.Finish()));
}

TEST_P(CallServerTest, AMessageThatIsTooLargeEndsItsCall) {
  for (const char* const method : {"/accel.Test/Greet", "/accel.Test/Echo"}) {
    ClientCall call(channel_, method);
    call.Write(std::string(kMaxMessageBytes + 1, 'x'));
    EXPECT_EQ(call.Read(), "");
    EXPECT_TRUE(absl::IsResourceExhausted(call.Finish())) << method;
  }
  ClientCall other(channel_, "/accel.Test/Greet");
  EXPECT_TRUE(other.Write("rank 0"));
  EXPECT_EQ(other.Read(), "hello rank 0");
}

TEST(CallServer, AServerThatCannotListenNeedsNoStop) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:/nowhere/socket", grpc::InsecureServerCredentials());
  const CallServer calls({}, &builder);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
}

TEST_P(CallServerTest, StopWaitsForCallsThatOthersFinish) {
  ClientCall call(channel_, "/accel.Test/Wait");
  events_.begun.WaitForNotification();
  std::thread finisher([this] {
    events_.cancelled.WaitForNotification();
    EXPECT_FALSE(events_.deleted.HasBeenNotified());
    events_.call->Finish(absl::CancelledError("the server shuts down"));
  });
  Stop();
  EXPECT_TRUE(events_.deleted.HasBeenNotified());
  finisher.join();
  EXPECT_FALSE(call.Finish().ok());
}

}  // namespace
}  // namespace accel::coordinator
