// The coordinator's side of enrolment (enrolment_client.h). It serves accepted connections that
// begin with the preface, which must still be unread.
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

// Bounds for all newcomers together, because any host may connect.
// Maximum number of enrolments at the same time.
inline constexpr int kMaxEnrolments = 8;
// Time after which the reads and writes of one enrolment fail. It does not interrupt `decide`.
inline constexpr absl::Duration kEnrolmentTime = absl::Seconds(3);

struct EnrolmentServerOptions {
  // Decides about a request, commits the decision, and returns the answer. May block. Called by at
  // most kMaxEnrolments threads concurrently. A refusal with the code UNAUTHENTICATED counts as a
  // wrong token of its source: an IPv4 address, or an IPv6 network of 64 bits. `peer` is the
  // newcomer's address, or empty if the newcomer has disconnected.
  std::function<EnrolmentAnswer(const EnrolmentRequest& request, const std::string& peer)> decide;
  absl::Duration time = kEnrolmentTime;
};

// Thread-safe.
class EnrolmentServer {
 public:
  // `key` and `chain` are PEM: the server's key, and its leaf followed by the
  // authority. INVALID_ARGUMENT: a text is damaged, or the two do not belong together.
  // INTERNAL: OpenSSL failed.
  static absl::StatusOr<std::unique_ptr<EnrolmentServer>> Start(EnrolmentServerOptions options,
                                                                const std::string& key,
                                                                const std::string& chain);
  virtual ~EnrolmentServer() = default;  // Calls Stop().

  // Ends all enrolments and waits for their threads. Later connections are closed immediately.
  // Idempotent. Must be called before any object that `decide` uses is destroyed.
  virtual void Stop() = 0;

  // Presents another certificate from the next connection on. After an error, the server keeps the
  // old one. During a rotation, join keys with the pin of the former authority are still valid.
  // Newcomers with such a key get `former_chain`. The former texts are empty if there is no
  // rotation. Errors are those of Start().
  virtual absl::Status Replace(const std::string& key, const std::string& chain,
                               const std::string& former_key, const std::string& former_chain) = 0;

  // Serves one connection in another thread, and ends it. Ends it with shutdown(), because
  // another descriptor of the connection may be open. Never blocks. A connection beyond the
  // bounds is ended immediately.
  virtual void Take(common::UniqueFd connection) = 0;
};

}  // namespace accel::security
