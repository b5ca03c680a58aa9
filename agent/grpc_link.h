// A CoordinatorLink over one gRPC stream. The stream is reopened, with jittered back-off,
// whenever it breaks.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/coordinator_link.h"
#include "agent/session_channels.h"
#include "common/log_throttle.h"
#include "common/wake_fd.h"
#include "common/wakeup.h"
#include "proto/service.grpc.pb.h"

namespace accel::agent {

// Returns the maximum size of a report after a session that ended with `why` and had the limit
// `now`. gRPC rejects a message over the receiver's limit with RESOURCE_EXHAUSTED. This code halves
// the limit, but not below 64 KiB. After any other code the limit is kMaxReportBytes again, because
// the next coordinator may have another limit.
int64_t NextReportBytes(int64_t now, const absl::Status& why);

// Owns two threads: one opens streams and reads them, the other writes.
class GrpcLink final : public CoordinatorLink {
 public:
  explicit GrpcLink(std::shared_ptr<SessionChannels> channels);
  // All sessions use this channel.
  explicit GrpcLink(const std::shared_ptr<grpc::Channel>& channel)
      : GrpcLink(std::make_shared<SessionChannels>([channel] { return channel; })) {}
  ~GrpcLink() override;

  uint64_t session() override;
  void Report(v1::NodeObserved observed) override;
  int64_t max_report_bytes() override;
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override;
  absl::Status fatal() override;
  int wake_fd() const override { return wake_.get(); }

 private:
  using Stream = grpc::ClientReaderWriter<v1::NodeObserved, v1::NodeDesired>;

  void Read();
  // Runs one session and returns why it ended. Sets `heard` to true if the
  // coordinator sent anything.
  absl::Status RunSession(bool* heard);
  void Write();
  // Waits for `pause`, or until a lost connection is restored. Returns false if the link
  // is being destroyed.
  bool Pause(absl::Duration pause);
  // Waits for `pause` without connecting. Returns false if the link is being destroyed.
  bool PauseQuietly(absl::Duration pause);
  bool Stopping();
  void NoteEnd(const absl::Status& why);
  void LogEnd(const absl::Status& why);

  const std::shared_ptr<SessionChannels> channels_;
  common::WakeFd wake_;
  common::Wakeup stop_;
  // Only the reading thread uses the next two.
  // The channel of the present session, or of the last one if there is none.
  std::shared_ptr<grpc::Channel> channel_;
  // Keyed by how a session ended: its code, and true if this node does not trust the coordinator.
  std::map<std::pair<absl::StatusCode, bool>, common::LogThrottle> ends_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool was_connected_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t session_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sessions_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t max_report_bytes_ ABSL_GUARDED_BY(mutex_) = kMaxReportBytes;
  std::optional<v1::NodeObserved> to_send_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::NodeDesired> received_ ABSL_GUARDED_BY(mutex_);
  absl::Status fatal_ ABSL_GUARDED_BY(mutex_);

  std::thread reader_;
  std::thread writer_;
};

}  // namespace accel::agent
