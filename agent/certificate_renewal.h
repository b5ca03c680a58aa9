// Renews the certificate of an agent while it runs (agent/core/renewal_plan.h decides when). A
// renewed certificate is written to the state directory, and the next connection uses it. While
// connected, the agent also asks the coordinator every 30 s for the name of its authorities. A
// rotation of the authorities is thus noticed months before the next renewal would be due.
#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/core/renewal_plan.h"
#include "agent/session_channels.h"
#include "common/clock.h"
#include "common/wakeup.h"
#include "security/client_identity.h"
#include "security/identity_files.h"
#include "security/renew_identity.h"

namespace accel::agent {

// Calls to the coordinator on a channel. Each blocks for a bounded time.
struct RenewalCalls {
  std::function<absl::StatusOr<security::RenewedCertificate>(
      const std::shared_ptr<grpc::Channel>& channel, const std::string& csr)>
      renew;
  // Makes a call that only presents the channel's certificate to the coordinator. Returns the name
  // of the coordinator's authorities (security/rotation.h).
  std::function<absl::StatusOr<std::string>(const std::shared_ptr<grpc::Channel>& channel)> greet;
  // Returns true if the channel has a connection.
  std::function<bool(const std::shared_ptr<grpc::Channel>& channel)> is_connected;
  // Returns a channel that presents this identity.
  std::function<std::shared_ptr<grpc::Channel>(const security::ClientIdentity& identity)> open;
};

// Returns the calls to the coordinator at HOST:PORT.
RenewalCalls CallsTo(const std::string& coordinator);

// Not thread-safe. Only `channels` is shared with other threads.
class CertificateRenewal {
 public:
  struct Options {
    std::string state_dir;
    security::ClientIdentity identity;  // The identity that the channels present first.
    std::shared_ptr<SessionChannels> channels;
    RenewalCalls calls;
    double jitter = 0;  // See RenewalPlan.
    common::Clock* clock = common::SteadyClock();
    std::function<absl::Time()> wall = absl::Now;
  };

  // The identity must be valid (security::CheckIdentity()).
  explicit CertificateRenewal(Options options);

  // Performs the step that is due now, if any, and logs it. Blocks while it calls the coordinator.
  void RunOnce();

 private:
  void AskForAuthorities();
  void CompareAuthorities();
  absl::Status Renew();
  absl::StatusOr<security::ClientIdentity> ReadChanged(const absl::Status& why) const;

  const Options options_;
  const security::IdentityFiles files_;
  RenewalPlan plan_;
  security::ClientIdentity identity_;  // The newest identity.
  std::string present_certificate_;    // The certificate of the present connection, in PEM.
  // The name of the coordinator's authorities. Empty if it is not known.
  std::string authorities_;
  absl::Time next_question_ = absl::InfinitePast();
  // See RenewalFacts.
  bool newest_is_outdated_ = false;
  bool present_is_former_ = false;
  CertificateSpan present_;
  CertificateSpan newest_;
};

// A thread that runs a renewal until it is destroyed.
class RenewalThread {
 public:
  explicit RenewalThread(CertificateRenewal::Options options);
  ~RenewalThread();

 private:
  CertificateRenewal renewal_;
  std::atomic<bool> stopping_{false};
  common::Wakeup wakeup_;
  std::thread thread_;
};

}  // namespace accel::agent
