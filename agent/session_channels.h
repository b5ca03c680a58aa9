// The channels of an agent to its coordinator. A renewed certificate needs a new channel, and a
// session that works must not end for it. So the present session keeps its channel, and the next
// one uses the newest. All other calls of the agent use the channel of the session, because the
// coordinator refuses the old certificate, and cuts its connections, as soon as the new one is
// used.
//
// A channel of gRPC that has failed connects again by itself, whether or not there is a call. So
// the pause after a refused session needs a channel that has not been used.
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
  // Returns a channel, which connects with its first call.
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
  // Called when a session begins. Returns its channel.
  std::shared_ptr<grpc::Channel> Adopt() {
    absl::MutexLock lock(&mutex_);
    present_ = newest_;
    return present_;
  }
  // Called when a session was refused. Replaces its channel by one that has not been used.
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
