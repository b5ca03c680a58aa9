// The connection of a CoordinatorClient. At a TCP address it reads the user's login again
// if necessary. Another command may renew the login at any time, and the former certificate
// is then refused.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cli/login_files.h"
#include "proto/access.grpc.pb.h"
#include "proto/blobs.grpc.pb.h"
#include "proto/service.grpc.pb.h"
#include "security/renew_identity.h"

namespace accel::cli {

// One channel, and the services that can be called on it.
struct CoordinatorStubs {
  CoordinatorStubs(const std::string& target,
                   const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Coordinator::Stub> coordinator;
  const std::unique_ptr<v1::Operations::Stub> operations;
  const std::unique_ptr<v1::Access::Stub> access;
  const std::unique_ptr<v1::Blobs::Stub> blobs;
};

// The effect of making a call twice.
enum class CallEffect {
  kNone,  // The call only reads, so it can be repeated.
  kSome,
};

// Thread-safe.
class CoordinatorConnection {
 public:
  // Connects to the Unix socket unix:PATH.
  explicit CoordinatorConnection(const std::string& address);
  // Connects to HOST:PORT.
  CoordinatorConnection(const std::string& address, Login login);
  // Renews the login if that is due, a call has succeeded, and no later call has lost the
  // coordinator. Takes at most a second.
  ~CoordinatorConnection();

  // Makes a call, and returns its error as a sentence for people. If the login was renewed
  // meanwhile, repeats a call that was refused, and a call whose connection was cut if `effect` is
  // kNone. If `deadline` is infinite, the call has no deadline.
  using Invoke = absl::FunctionRef<grpc::Status(const CoordinatorStubs&, grpc::ClientContext*)>;
  absl::Status Call(absl::Duration deadline, CallEffect effect, Invoke invoke);

  // See CoordinatorClient::AwaitConnection().
  void Await(absl::Duration longest);

 private:
  std::shared_ptr<const CoordinatorStubs> stubs();
  std::string authorities();
  std::shared_ptr<const CoordinatorStubs> ConnectAs(const security::ClientIdentity& identity) const;
  void NoteEnd(const grpc::Status& status, const grpc::ClientContext& context);
  bool TakeNewLogin(const std::shared_ptr<const CoordinatorStubs>& used);
  absl::StatusOr<security::RenewedCertificate> Renew(const std::string& csr);
  void WarnIfUrgent(const absl::Status& why, absl::Time now) const;
  absl::Status Explain(const CoordinatorStubs& to, const grpc::Status& status,
                       absl::Duration deadline) const;

  const std::string address_;
  absl::Mutex mutex_;
  // Unset at a Unix socket. Calls change only its identity, and hold the mutex for that.
  std::optional<Login> login_;
  std::shared_ptr<const CoordinatorStubs> stubs_ ABSL_GUARDED_BY(mutex_);
  // The name of the coordinator's authorities (security/rotation.h). Empty if it is not known.
  std::string authorities_ ABSL_GUARDED_BY(mutex_);
  // True if a call has succeeded, and no later call has lost the coordinator.
  std::atomic<bool> is_reachable_{false};
};

}  // namespace accel::cli
