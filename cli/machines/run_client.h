// The stream of a machine that takes part in a launch which another machine serves. It waits for
// that machine, which may start later.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cli/config/core/meeting_place.h"
#include "common/wake_fd.h"
#include "proto/run.grpc.pb.h"
#include "security/client_identity.h"

namespace accel::cli {

// Returns a target of gRPC that stands for these addresses (HOST:PORT, numeric). They are tried in
// this order. There is at least one.
std::string RunTarget(const std::vector<std::string>& addresses);

// Opens a channel to the machine that serves, at the first of `addresses` at which it listens.
std::shared_ptr<grpc::Channel> OpenRunChannel(const std::vector<std::string>& addresses,
                                              const security::ClientIdentity& identity);

// Returns the error for a person, from the status with which a stream ended. Returns OK if the
// machine that serves may still come, so that the caller tries again.
absl::Status FinalError(const absl::Status& ended, const MeetingPlace& place,
                        const std::string& key_source);

// Owns a thread. Thread-safe.
class RunClient {
 public:
  // Takes part as `machine`. Tries to reach the machine that serves for `place.timeout`.
  RunClient(std::shared_ptr<grpc::Channel> channel, v1::RunMachine machine, MeetingPlace place,
            std::string key_source);
  // Ends the stream.
  ~RunClient();

  // Readable when news() or ended() has changed. The launch clears it.
  common::WakeFd& wake() { return wake_; }
  // Returns the newest news, or nullopt before the first.
  std::optional<v1::RunNews> news();
  // Returns why the stream has ended, for a person. OK while it has not.
  absl::Status ended();

  // Sends a signal of the user to the machine that serves.
  void Signal(int signal, bool at_once);

 private:
  using Stream = grpc::ClientReaderWriter<v1::RunRequest, v1::RunNews>;

  void Run();
  absl::Status RunStream();
  bool stopping();

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Run::Stub> stub_;
  const v1::RunMachine machine_;
  const MeetingPlace place_;
  const std::string key_source_;
  common::WakeFd wake_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::optional<v1::RunNews> news_ ABSL_GUARDED_BY(mutex_);
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace accel::cli
