// The channels of an agent to its coordinator. A renewed certificate needs a new channel, but a
// session that works must not end because of a renewal. The present session therefore keeps its
// channel, and the next session uses the newest one. All other calls of the agent use the channel
// of the session too. The reason is that the coordinator cuts all connections of the old
// certificate as soon as the new one is used.
//
// A gRPC channel that has failed reconnects by itself, even without a call. The pause after a
// refused session therefore needs a channel that has not been used.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace accel::agent {

// Thread-safe.
class SessionChannels {
 public:
  // Returns a new channel, which connects with its first call.
  using Open = std::function<std::shared_ptr<grpc::Channel>()>;

  explicit SessionChannels(Open open)
      : open_(std::move(open)), present_(open_()), newest_(present_) {}

  // Returns the channel of the present session, or of the last one.
  std::shared_ptr<grpc::Channel> present() const {
    absl::MutexLock lock(&mutex_);
    return present_;
  }
  // Returns the channel that the next session will use.
  std::shared_ptr<grpc::Channel> newest() const {
    absl::MutexLock lock(&mutex_);
    return newest_;
  }

  // Sets how the channels of the next sessions are opened.
  void Offer(Open open) {
    absl::MutexLock lock(&mutex_);
    open_ = std::move(open);
    newest_ = open_();
  }
  // Makes the newest channel the present one, and returns it. Called when a session begins.
  std::shared_ptr<grpc::Channel> Adopt() {
    absl::MutexLock lock(&mutex_);
    present_ = newest_;
    return present_;
  }
  // Replaces both channels by one that has not been used, and returns it. Called when a
  // session was refused.
  std::shared_ptr<grpc::Channel> Reopen() {
    absl::MutexLock lock(&mutex_);
    present_ = newest_ = open_();
    return present_;
  }

 private:
  mutable absl::Mutex mutex_;
  Open open_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> present_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::agent
