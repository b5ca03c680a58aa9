// The stream from a machine of a launch to the serving machine. It waits for the serving machine,
// which may start later.
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

// Returns a gRPC target for these addresses (numeric HOST:PORT), which gRPC tries in this order.
// `addresses` must not be empty.
std::string RunTarget(const std::vector<std::string>& addresses);

// Opens a channel to the serving machine, at the first of `addresses` at which it listens.
std::shared_ptr<grpc::Channel> OpenRunChannel(const std::vector<std::string>& addresses,
                                              const security::ClientIdentity& identity);

// Returns the error to show to the user after a stream has ended with the status `ended`. Returns
// OK if the caller must try again, because the serving machine may start later.
absl::Status FinalError(const absl::Status& ended, const MeetingPlace& place,
                        const std::string& key_source);

// Owns a thread. Thread-safe.
class RunClient {
 public:
  // Takes part as `machine`. Tries to reach the serving machine for `place.timeout`.
  RunClient(std::shared_ptr<grpc::Channel> channel, v1::RunMachine machine, MeetingPlace place,
            std::string key_source);
  // Ends the stream.
  ~RunClient();

  // Readable when news() or ended() has changed. The launch clears it.
  common::WakeFd& wake() { return wake_; }
  // Returns the newest news, or nullopt before the first.
  std::optional<v1::RunNews> news();
  // Returns why the stream has ended, as an error to show to the user. OK while the stream
  // has not ended.
  absl::Status ended();

  // Sends a signal of the user to the serving machine.
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
