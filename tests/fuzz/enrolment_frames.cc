// The frames of the enrolment: requests of strangers, before their one-time key is checked, and
// answers of what may not be the coordinator.
#include "security/enrolment/enrolment_frames.h"

#include "common/check.h"
#include "common/utf8.h"
#include "security/signing_request.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::security {
namespace {

void CheckRequestFrame(absl::string_view frame) {
  const auto request = DecodeRequest(frame);
  if (!request.ok()) return fuzz::CheckRefusal(request.status());
  ACCEL_CHECK(EncodeRequest(*request) == frame, "a request has one encoding");
  const auto key = CheckRequest(request->csr);
  if (!key.ok()) fuzz::CheckRefusal(key.status());
}

void CheckAnswerFrame(absl::string_view frame) {
  const auto answer = DecodeAnswer(frame);
  if (!answer.ok()) return fuzz::CheckRefusal(answer.status());
  const std::string encoded = EncodeAnswer(*answer);
  const auto again = DecodeAnswer(encoded);
  ACCEL_CHECK(again.ok() && EncodeAnswer(*again) == encoded, "an answer survives its encoding");
}

// A refusal may quote what the newcomer sent, up to any length.
void CheckSentence(absl::string_view sentence) {
  if (!common::IsUtf8(sentence)) return;
  const auto answer = DecodeAnswer(EncodeAnswer({.refusal = absl::InternalError(sentence)}));
  ACCEL_CHECK(answer.ok(), "every refusal reaches the newcomer");
}

}  // namespace

FUZZ_TARGET(bytes) {
  CheckRequestFrame(bytes);
  CheckAnswerFrame(bytes);
  CheckSentence(bytes);
  const auto key = CheckRequest(bytes);
  if (!key.ok()) fuzz::CheckRefusal(key.status());
}

}  // namespace accel::security
