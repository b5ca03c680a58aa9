// The CLI's connection to the coordinator. Calls block, and errors are sentences for people.
// Thread-safe. Nothing is sent before the first call. Every call can fail with
//   UNAVAILABLE: the coordinator does not answer, or reports a temporary failure; worth a retry.
//   UNAUTHENTICATED: the coordinator refuses the certificate.
//   DEADLINE_EXCEEDED: no answer before the deadline; the request may have taken effect.
// and with the errors in proto/service.proto.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/login_files.h"
#include "proto/access.pb.h"
#include "proto/blobs.pb.h"
#include "proto/service.pb.h"

namespace accel::cli {

// Thread-safe.
class CoordinatorClient {
 public:
  // Makes a client for the Unix socket `address`, unix:PATH. Errors are
  // those of CheckSocketAddress().
  static absl::StatusOr<std::unique_ptr<CoordinatorClient>> Connect(const std::string& address);
  // `address` is HOST:PORT. If another process renews the login, the client uses the new
  // certificate from the next call on. The destructor renews the login if that is due and a call
  // has succeeded. This takes at most a second. INVALID_ARGUMENT: the address is not HOST:PORT.
  static absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectWithCertificate(
      const std::string& address, Login login);
  virtual ~CoordinatorClient() = default;

  // Blocks until a connection is established, or until `longest` has passed. A call without a
  // connection fails immediately, so use this before a retry.
  virtual void AwaitConnection(absl::Duration longest) = 0;

  // Returns the id of the job.
  virtual absl::StatusOr<std::string> SubmitJob(const v1::SubmitJobRequest& request,
                                                absl::Duration deadline) = 0;
  // Returns the job with this id, or all jobs if `job_id` is empty.
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(const std::string& job_id) = 0;
  virtual absl::Status CancelJob(const std::string& job_id, bool at_once) = 0;
  virtual absl::StatusOr<v1::ListNodesResponse> ListNodes() = 0;
  // `node` is a name or an id.
  virtual absl::Status DrainNode(const std::string& node, v1::Drain drain) = 0;

  // Returns the hashes of the blobs of an upload that the coordinator lacks (proto/blobs.proto).
  virtual absl::StatusOr<std::vector<std::string>> MissingBlobs(const std::string& manifest) = 0;
  // Sends one piece of a blob. Returns false if the stream has ended; PutBlobs() then returns why.
  using SendChunk = std::function<bool(const v1::BlobChunk& chunk)>;
  // Calls `source`, which sends blobs. Has no deadline. Returns the error of `source` if it has
  // one, else the result of the call.
  virtual absl::Status PutBlobs(
      const std::function<absl::Status(const SendChunk& send)>& source) = 0;

  // The next five functions are calls of the service Access (proto/access.proto).
  virtual absl::StatusOr<v1::AddTokenResponse> AddToken(const v1::AddTokenRequest& request) = 0;
  virtual absl::StatusOr<v1::ListMembersResponse> ListMembers(v1::MemberKind kind) = 0;
  virtual absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request) = 0;
  virtual absl::Status RemoveMember(v1::MemberKind kind, const std::string& member) = 0;
  virtual absl::StatusOr<v1::WhoAmIResponse> WhoAmI() = 0;

  // The next two functions have no deadline. They call `on_open` once the coordinator has
  // accepted the call.
  //
  // Calls `on_job` with each version of the job newer than known_version. Returns when the stream
  // ends. Returns OK if `on_job` returns false.
  virtual absl::Status WatchJob(const v1::WatchJobRequest& request,
                                const std::function<void()>& on_open,
                                const std::function<bool(const v1::Job&)>& on_job) = 0;
  // Calls `on_chunk` with each chunk until the stream ends.
  virtual absl::Status ReadLogs(const v1::ReadLogsRequest& request,
                                const std::function<void()>& on_open,
                                const std::function<void(const v1::LogChunk&)>& on_chunk) = 0;
};

}  // namespace accel::cli
