#include "agent/certificate_renewal.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <utility>

#include "agent/channel.h"
#include "common/check.h"
#include "common/grpc_status.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "proto/access.grpc.pb.h"
#include "security/certificate.h"
#include "security/named_authorities.h"
#include "security/rotation.h"

namespace accel::agent {
namespace {

// Pause between two checks of what is due. Short, because the clock may be set at any time.
constexpr absl::Duration kLook = absl::Seconds(10);
// Pause between two questions for the coordinator's authorities.
constexpr absl::Duration kQuestionPause = absl::Seconds(30);
// Time limit of one call. It is short, because an agent that is asked to stop waits for the call.
constexpr std::chrono::seconds kCallLimit(5);

CertificateSpan SpanOf(const security::ClientIdentity& identity) {
  const auto certificate = security::Certificate::FromPem(identity.certificate);
  ACCEL_CHECK(certificate.ok(), "the certificate was checked");
  return {certificate->not_before(), certificate->not_after()};
}

std::string Day(absl::Time time) { return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone()); }

void LogFailure(absl::string_view message, const absl::Status& why, const CertificateSpan& span,
                absl::Time wall) {
  if (IsUrgent(span, wall)) {
    common::LogError(
        wall > span.not_after
            ? "this node's certificate has ended; set the clock if it is wrong, or join again"
            : "this node's certificate ends soon; then the node must join again",
        {{"left", TimeLeft(span, wall)}, {"problem", message}, {"why", why.message()}});
    return;
  }
  common::LogWarning(message, {{"why", why.message()}, {"left", TimeLeft(span, wall)}});
}

}  // namespace

RenewalCalls CallsTo(const std::string& coordinator) {
  RenewalCalls calls;
  calls.renew = [](const std::shared_ptr<grpc::Channel>& channel,
                   const std::string& csr) -> absl::StatusOr<security::RenewedCertificate> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    v1::RenewRequest request;
    request.set_csr(csr);
    v1::RenewResponse response;
    ACCEL_RETURN_IF_ERROR(
        common::FromGrpc(v1::Access::NewStub(channel)->Renew(&context, request, &response)));
    return security::RenewedCertificate{response.certificate(), response.authorities()};
  };
  calls.greet = [](const std::shared_ptr<grpc::Channel>& channel) -> absl::StatusOr<std::string> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    v1::WhoAmIResponse response;
    ACCEL_RETURN_IF_ERROR(
        common::FromGrpc(v1::Access::NewStub(channel)->WhoAmI(&context, {}, &response)));
    return security::AuthoritiesNamedBy(context.GetServerTrailingMetadata());
  };
  calls.is_connected = [](const std::shared_ptr<grpc::Channel>& channel) {
    return channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  };
  calls.open = [coordinator](const security::ClientIdentity& identity) {
    return OpenChannel(coordinator, identity);
  };
  return calls;
}

CertificateRenewal::CertificateRenewal(Options options)
    : options_(std::move(options)),
      files_(options_.state_dir, "node"),
      plan_(options_.jitter),
      identity_(options_.identity),
      present_certificate_(identity_.certificate),
      present_(SpanOf(identity_)),
      newest_(present_) {}

void CertificateRenewal::RunOnce() {
  const absl::Time wall = options_.wall();
  const bool newest_is_in_use = options_.channels->present() == options_.channels->newest();
  if (newest_is_in_use && present_certificate_ != identity_.certificate) {
    present_ = newest_;
    present_certificate_ = identity_.certificate;
    CompareAuthorities();
  }
  AskForAuthorities();
  const RenewalStep step = plan_.Next({.now = options_.clock->Now(),
                                       .wall = wall,
                                       .present = present_,
                                       .newest = newest_,
                                       .newest_is_in_use = newest_is_in_use,
                                       .newest_is_outdated = newest_is_outdated_,
                                       .present_is_former = present_is_former_});
  if (step == RenewalStep::kNone) return;
  const bool renews = step == RenewalStep::kRenew;
  const absl::Status done =
      renews ? Renew() : options_.calls.greet(options_.channels->newest()).status();
  if (!done.ok()) {
    LogFailure(renews ? "cannot renew this node's certificate, retrying"
                      : "cannot use this node's renewed certificate yet, retrying",
               done, present_, wall);
    plan_.NoteFailure(options_.clock->Now());
    return;
  }
  common::LogInfo(renews ? "renewed this node's certificate, for the next connection"
                         : "this node's renewed certificate replaces the one that is in use",
                  {{"valid_until", Day(newest_.not_after)}});
  plan_.NoteSuccess(options_.clock->Now());
}

// A failed call is not logged, because the link logs that the coordinator is away. The next call
// follows after the usual pause.
void CertificateRenewal::AskForAuthorities() {
  const absl::Time now = options_.clock->Now();
  if (now < next_question_) return;
  next_question_ = now + kQuestionPause;
  const std::shared_ptr<grpc::Channel> channel = options_.channels->present();
  if (!options_.calls.is_connected(channel)) return;
  absl::StatusOr<std::string> named = options_.calls.greet(channel);
  if (!named.ok() || *named == authorities_) return;
  authorities_ = *std::move(named);
  CompareAuthorities();
}

// Called only after a change of the values that it compares, because to verify
// signatures takes long.
void CertificateRenewal::CompareAuthorities() {
  newest_is_outdated_ = security::IsOutdated(identity_, authorities_);
  present_is_former_ = !security::IsOfFirst(present_certificate_, identity_.authorities);
}

absl::Status CertificateRenewal::Renew() {
  const std::shared_ptr<grpc::Channel> channel = options_.channels->present();
  absl::StatusOr<security::ClientIdentity> renewed = security::RenewIdentity(
      files_, identity_, options_.wall(),
      [&](const std::string& csr) { return options_.calls.renew(channel, csr); });
  if (absl::IsAborted(renewed.status())) renewed = ReadChanged(renewed.status());
  ACCEL_RETURN_IF_ERROR(renewed.status());
  identity_ = *std::move(renewed);
  newest_ = SpanOf(identity_);
  CompareAuthorities();
  options_.channels->Offer(
      [open = options_.calls.open, identity = identity_] { return open(identity); });
  return absl::OkStatus();
}

// Returns the identity that is in the files now. It may differ from the one in memory, because
// another process has written it, or an earlier renewal has failed after it wrote. Returns `why` if
// it is neither the one in memory nor one that may replace it (security::Continues()).
absl::StatusOr<security::ClientIdentity> CertificateRenewal::ReadChanged(
    const absl::Status& why) const {
  ACCEL_ASSIGN_OR_RETURN(security::ClientIdentity read, files_.Read());
  ACCEL_RETURN_IF_ERROR(
      security::CheckIdentity(read, "join again, and start the agent again", options_.wall()));
  const bool is_the_same = read.certificate == identity_.certificate;
  if (!is_the_same && !security::Continues(read, identity_)) return why;
  return read;
}

RenewalThread::RenewalThread(CertificateRenewal::Options options)
    : renewal_(options), thread_([this, first = kLook * options.jitter] {
        // The first pause is random, so that nodes that start together do not call together.
        wakeup_.WaitFor(first);
        while (!stopping_) {
          renewal_.RunOnce();
          wakeup_.WaitFor(kLook);
        }
      }) {}

RenewalThread::~RenewalThread() {
  stopping_ = true;
  wakeup_.Notify();
  thread_.join();
}

}  // namespace accel::agent
