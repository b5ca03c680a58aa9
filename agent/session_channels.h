// The channels of an agent to its coordinator. A renewed certificate needs a new channel, and a
// session that works must not end for it. So the present session keeps its channel, and the next
// one uses the newest. All other calls of the agent use the channel of the session, because the
// coordinator refuses the old certificate, and cuts its connections, as soon as the new one is
// used.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace accel::agent {

// Thread-safe.
class SessionChannels {
 public:
  explicit SessionChannels(std::shared_ptr<grpc::Channel> first)
      : present_(first), newest_(std::move(first)) {}

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

  // Sets the channel that the next session will use.
  void Offer(std::shared_ptr<grpc::Channel> channel) {
    absl::MutexLock lock(&mutex_);
    newest_ = std::move(channel);
  }
  // Called when a session begins. Returns its channel.
  std::shared_ptr<grpc::Channel> Adopt() {
    absl::MutexLock lock(&mutex_);
    present_ = newest_;
    return present_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<grpc::Channel> present_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::agent
