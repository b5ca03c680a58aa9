#include "cli/coordinator_connection.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/coordinator_channel.h"
#include "cli/login_renewal.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/client_credentials.h"
#include "security/named_authorities.h"
#include "security/rotation.h"

namespace accel::cli {
namespace {

// Limit of a renewal, by which it delays a command at most.
constexpr std::chrono::seconds kRenewalLimit(1);
// A login that cannot be renewed is named if it ends within this time.
constexpr absl::Duration kUrgent = absl::Hours(24 * 7);

}  // namespace

CoordinatorStubs::CoordinatorStubs(const std::string& target,
                                   const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : channel(grpc::CreateCustomChannel(target, credentials, CoordinatorChannelArguments())),
      coordinator(v1::Coordinator::NewStub(channel)),
      operations(v1::Operations::NewStub(channel)),
      access(v1::Access::NewStub(channel)),
      blobs(v1::Blobs::NewStub(channel)) {}

// The kernel names both users, so the connection needs no encryption.
CoordinatorConnection::CoordinatorConnection(const std::string& address)
    : address_(address),
      stubs_(
          std::make_shared<CoordinatorStubs>(address, grpc::experimental::LocalCredentials(UDS))) {}

CoordinatorConnection::CoordinatorConnection(const std::string& address, Login login)
    : address_(address), login_(std::move(login)), stubs_(ConnectAs(login_->identity)) {}

CoordinatorConnection::~CoordinatorConnection() {
  if (!login_.has_value() || !is_reachable_) return;
  const absl::Time now = absl::Now();
  const absl::Status renewed = RenewLogin(*login_, now, authorities(),
                                          [this](const std::string& csr) { return Renew(csr); });
  // The command itself has done its work, so its exit code is left unchanged.
  if (!renewed.ok()) WarnIfUrgent(renewed, now);
}

void CoordinatorConnection::Await(absl::Duration longest) {
  stubs()->channel->WaitForConnected(std::chrono::system_clock::now() +
                                     absl::ToChronoMilliseconds(longest));
}

absl::Status CoordinatorConnection::Call(absl::Duration deadline, CallEffect effect,
                                         Invoke invoke) {
  for (bool is_first = true;; is_first = false) {
    const std::shared_ptr<const CoordinatorStubs> to = stubs();
    grpc::ClientContext context;
    if (deadline != absl::InfiniteDuration()) {
      context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(deadline));
    }
    const grpc::Status status = invoke(*to, &context);
    NoteEnd(status, context);
    // The coordinator refuses a certificate that was replaced, and cuts its connections.
    const bool is_refused = status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
    const bool is_cut = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    const bool has_changed = (is_refused || is_cut) && TakeNewLogin(to);
    // A refused call had no effect. One that was cut may have had it.
    const bool may_repeat = is_refused || effect == CallEffect::kNone;
    if (is_first && has_changed && may_repeat) continue;
    return Explain(*to, status, deadline);
  }
}

void CoordinatorConnection::NoteEnd(const grpc::Status& status,
                                    const grpc::ClientContext& context) {
  if (status.ok()) {
    is_reachable_ = true;
    absl::MutexLock lock(&mutex_);
    authorities_ = security::AuthoritiesNamedBy(context.GetServerTrailingMetadata());
  }
  const bool is_lost = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                       status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (is_lost) is_reachable_ = false;
}

std::string CoordinatorConnection::authorities() {
  absl::MutexLock lock(&mutex_);
  return authorities_;
}

std::shared_ptr<const CoordinatorStubs> CoordinatorConnection::stubs() {
  absl::MutexLock lock(&mutex_);
  return stubs_;
}

std::shared_ptr<const CoordinatorStubs> CoordinatorConnection::ConnectAs(
    const security::ClientIdentity& identity) const {
  return std::make_shared<CoordinatorStubs>(absl::StrCat("dns:///", address_),
                                            security::MakeClientCredentials(identity));
}

// Reads the login again. Returns true if it is another one than `used` has shown.
bool CoordinatorConnection::TakeNewLogin(const std::shared_ptr<const CoordinatorStubs>& used) {
  if (!login_.has_value()) return false;
  absl::StatusOr<security::ClientIdentity> now = ReadLogin(login_->folder);
  absl::MutexLock lock(&mutex_);
  if (stubs_ != used) return true;  // Another thread was faster.
  if (!now.ok() || now->certificate == login_->identity.certificate) return false;
  // A command that has begun as one user does not go on as another.
  if (!security::AreOfSameMember(now->certificate, login_->identity.certificate)) return false;
  login_->identity = *std::move(now);
  stubs_ = ConnectAs(login_->identity);
  return true;
}

absl::StatusOr<security::RenewedCertificate> CoordinatorConnection::Renew(const std::string& csr) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRenewalLimit);
  v1::RenewRequest request;
  request.set_csr(csr);
  v1::RenewResponse response;
  ACCEL_RETURN_IF_ERROR(common::FromGrpc(stubs()->access->Renew(&context, request, &response)));
  return security::RenewedCertificate{response.certificate(), response.authorities()};
}

void CoordinatorConnection::WarnIfUrgent(const absl::Status& why, absl::Time now) const {
  const auto certificate = security::Certificate::FromPem(login_->identity.certificate);
  if (!certificate.ok() || certificate->not_after() - now > kUrgent) return;
  std::fprintf(
      stderr, "accel: your login ends at %s, and it cannot be renewed: %s\n",
      absl::FormatTime("%Y-%m-%d %H:%M", certificate->not_after(), absl::LocalTimeZone()).c_str(),
      std::string(why.message()).c_str());
}

absl::Status CoordinatorConnection::Explain(const CoordinatorStubs& to, const grpc::Status& status,
                                            absl::Duration deadline) const {
  if (status.ok()) return absl::OkStatus();
  std::string sentence = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      // The coordinator's own refusals arrive over an established connection and are kept.
      // Without a connection the message is gRPC's jargon and is replaced.
      if (to.channel->GetState(false) != GRPC_CHANNEL_READY) {
        sentence =
            absl::StrCat("cannot reach the coordinator at ", address_,
                         "; is accel-coordinator running there? (choose another address with "
                         "--coordinator or ACCEL_COORDINATOR)");
        const std::string foreign = security::ExplainForeignServer(
            status.error_message(), absl::StrCat("the coordinator at ", address_),
            "ask an administrator for a key, and run: accel login", absl::Now());
        if (!foreign.empty()) sentence = foreign;
      }
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      sentence = absl::StrCat("the coordinator at ", address_, " has not answered for ",
                              absl::FormatDuration(deadline));
      break;
    case grpc::StatusCode::CANCELLED:
      // This client did not cancel the call: a server that shuts down answers pending
      // calls this way.
      return absl::UnavailableError(
          absl::StrCat("the coordinator at ", address_, " is shutting down"));
    default:
      break;
  }
  return absl::Status(common::FromGrpc(status).code(), sentence);
}

}  // namespace accel::cli
