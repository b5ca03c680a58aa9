// The connection of a CoordinatorClient. At a TCP address it follows the user's login: another
// command may renew the login at any time, which ends the certificate that this one has read.
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

// One channel and what can be called on it.
struct CoordinatorStubs {
  CoordinatorStubs(const std::string& target,
                   const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Coordinator::Stub> coordinator;
  const std::unique_ptr<v1::Operations::Stub> operations;
  const std::unique_ptr<v1::Access::Stub> access;
  const std::unique_ptr<v1::Blobs::Stub> blobs;
};

// What happens if a call is made twice.
enum class CallEffect {
  kNone,  // The same as with one: it only reads.
  kSome,
};

// Thread-safe.
class CoordinatorConnection {
 public:
  // At the Unix socket unix:PATH.
  explicit CoordinatorConnection(const std::string& address);
  // At HOST:PORT.
  CoordinatorConnection(const std::string& address, Login login);
  // Renews the login if that is due, a call has succeeded, and the coordinator was not lost since.
  // Takes at most a second.
  ~CoordinatorConnection();

  // Makes a call, and explains its error to people. A call that fails because the login was renewed
  // is made again if that is safe. There is no deadline if it is infinite.
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
  // Unset at a Unix socket. Calls change only its identity, with the mutex.
  std::optional<Login> login_;
  std::shared_ptr<const CoordinatorStubs> stubs_ ABSL_GUARDED_BY(mutex_);
  // The name of the coordinator's authorities (security/rotation.h). Empty if it is not known.
  std::string authorities_ ABSL_GUARDED_BY(mutex_);
  // A call has succeeded, and none was lost since.
  std::atomic<bool> is_reachable_{false};
};

}  // namespace accel::cli
