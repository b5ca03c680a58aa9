// A unary call whose answer may be large. Each answer remains in memory until the caller has read
// it, so the memory of all answers together is bounded.
#pragma once

#include <google/protobuf/message.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "coordinator/access/call_limits.h"
#include "coordinator/calls/server_call.h"

namespace accel::coordinator {

// The bound on the memory of all answers that are being sent. Thread-safe.
class AnswerRoom {
 public:
  static constexpr int64_t kMaxBytes = int64_t{256} << 20;

  // Reserves room. Returns false if the answers that are being sent leave too little. If there are
  // none, the answer always has room, even if it is larger than the bound.
  bool Take(int64_t bytes) {
    const int64_t before = taken_.fetch_add(bytes);
    if (before == 0 || before + bytes <= kMaxBytes) return true;
    taken_.fetch_sub(bytes);
    return false;
  }
  void Give(int64_t bytes) { taken_.fetch_sub(bytes); }

 private:
  std::atomic<int64_t> taken_{0};
};

// What a call with a large answer holds until the caller has read the answer.
class ListCall final : public CallReactor {
 public:
  // Makes one, which `call` owns.
  static ListCall* Begin(ServerCall* call, CallPlace place, std::shared_ptr<AnswerRoom> room) {
    auto list = std::make_unique<ListCall>(call, std::move(place), std::move(room));
    ListCall* const begun = list.get();
    call->React(std::move(list));
    return begun;
  }

  ListCall(ServerCall* call, CallPlace place, std::shared_ptr<AnswerRoom> room)
      : call_(*call), place_(std::move(place)), room_(std::move(room)) {}
  ~ListCall() override { room_->Give(taken_); }

  // Both end the call. Answer() ends it with RESOURCE_EXHAUSTED if there is no room.
  void Answer(const google::protobuf::Message& message);
  void Fail(const absl::Status& status) { call_.Finish(status); }

 private:
  ServerCall& call_;
  const CallPlace place_;
  const std::shared_ptr<AnswerRoom> room_;
  int64_t taken_ = 0;
};

}  // namespace accel::coordinator
