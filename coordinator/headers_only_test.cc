// Calls whose request never comes. They count as calls of their caller, because each of them takes
// memory until it ends.

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

constexpr int kCalls = 64;  // How many calls a user may have at a time.

ServerOptions EveryoneIsAnn() {
  ServerOptions options;
  options.identify = [](const grpc::ServerContextBase&) -> absl::StatusOr<Caller> {
    return Caller{CallerKind::kUser, "ann", "", Role::kUser};
  };
  return options;
}

class HeadersOnlyTest : public ServiceTest {
 protected:
  HeadersOnlyTest() : ServiceTest(EveryoneIsAnn()) {}
  ~HeadersOnlyTest() override {
    for (const auto& call : calls_) call->context->TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  // Sends the headers of a call, and no message.
  void SendHeaders() {
    auto call = std::make_unique<Headers>();
    call->context = Call();
    call->stream =
        generic_.PrepareCall(call->context.get(), "/accel.v1.Coordinator/ListNodes", &queue_);
    call->stream->StartCall(nullptr);
    call->stream->Finish(&call->status, call.get());
    calls_.push_back(std::move(call));
  }

  // Returns the status of the next call that ends.
  absl::Status NextEnd() {
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
      if (tag != nullptr) return common::FromGrpc(static_cast<Headers*>(tag)->status);
    }
    return absl::UnknownError("the queue has ended");
  }

 private:
  struct Headers {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::Status status;
  };

  grpc::CompletionQueue queue_;
  grpc::GenericStub generic_{channel_};
  std::vector<std::unique_ptr<Headers>> calls_;
};

TEST_F(HeadersOnlyTest, TheyCountAsCallsOfTheirCaller) {
  for (int i = 0; i <= kCalls; ++i) SendHeaders();
  const absl::Status refused = NextEnd();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_NE(refused.message().find("ann has 64 calls"), std::string::npos) << refused;
}

TEST_F(HeadersOnlyTest, TheyEndWithTheServer) {
  for (int i = 0; i < kCalls; ++i) SendHeaders();
  server_.reset();
  for (int i = 0; i < kCalls; ++i) EXPECT_FALSE(NextEnd().ok());
}

}  // namespace
}  // namespace accel::coordinator
