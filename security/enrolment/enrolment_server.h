// The coordinator's side of enrolment: see enrolment_client.h. It serves connections that are
// already accepted and whose first bytes are the preface, which the gate only peeks at.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "security/enrolment/enrolment_frames.h"

namespace accel::security {

// Bounds on strangers.
inline constexpr int kMaxEnrolments = 8;                            // At the same time.
inline constexpr absl::Duration kEnrolmentTime = absl::Seconds(3);  // From the preface to the end.

struct EnrolmentServerOptions {
  // Decides about a request, commits, and returns the answer. Called on a thread that may block,
  // from at most kMaxEnrolments threads concurrently. A refusal with the code UNAUTHENTICATED
  // counts as a wrong token of its source: an IPv4 address, or an IPv6 network of 64 bits. `peer`
  // is the address of the newcomer, or empty if it has gone.
  std::function<EnrolmentAnswer(const EnrolmentRequest& request, const std::string& peer)> decide;
  absl::Duration time = kEnrolmentTime;
};

// Thread-safe.
class EnrolmentServer {
 public:
  // `key` and `chain` are PEM: the server's key, and its leaf followed by the authority.
  // INVALID_ARGUMENT: they do not belong together.
  static absl::StatusOr<std::unique_ptr<EnrolmentServer>> Start(EnrolmentServerOptions options,
                                                                const std::string& key,
                                                                const std::string& chain);
  virtual ~EnrolmentServer() = default;  // Calls Stop().

  // Ends all enrolments and waits for their threads. Later connections are ended immediately.
  // Idempotent. Must be called before what `decide` uses is destroyed.
  virtual void Stop() = 0;

  // Shows another certificate from the next connection on. After an error, the server keeps the old
  // one. Newcomers whose join key has the pin of another authority are shown `former_chain`, if it
  // is that one's, because both are valid during a rotation. Empty texts stand for none. Errors are
  // those of Start().
  virtual absl::Status Replace(const std::string& key, const std::string& chain,
                               const std::string& former_key, const std::string& former_chain) = 0;

  // Serves one connection and ends it, with shutdown() because another descriptor of it may be
  // open. Never blocks. A connection beyond the bounds is ended immediately.
  virtual void Take(common::UniqueFd connection) = 0;
};

}  // namespace accel::security
