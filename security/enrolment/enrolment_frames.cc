#include "security/enrolment/enrolment_frames.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace accel::security {
namespace {

constexpr size_t kLengthBytes = 2;
constexpr size_t kMaxTextBytes = 1024;  // Maximum size of a sentence, a name or a version.

std::string Encode(std::initializer_list<absl::string_view> fields) {
  std::string frame;
  for (const absl::string_view field : fields) {
    frame.push_back(static_cast<char>(field.size() >> 8));
    frame.push_back(static_cast<char>(field.size() & 0xff));
    absl::StrAppend(&frame, field);
  }
  return frame;
}

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the enrolment message ", what));
}

template <size_t kFields>
absl::StatusOr<std::array<std::string, kFields>> Decode(absl::string_view frame) {
  if (frame.size() > kMaxFrameBytes) return Wrong("is too long");
  std::array<std::string, kFields> fields;
  for (std::string& field : fields) {
    if (frame.size() < kLengthBytes) return Wrong("ends too early");
    const size_t size =
        static_cast<size_t>(static_cast<uint8_t>(frame[0])) << 8 | static_cast<uint8_t>(frame[1]);
    frame.remove_prefix(kLengthBytes);
    if (frame.size() < size) return Wrong("ends too early");
    field = std::string(frame.substr(0, size));
    frame.remove_prefix(size);
  }
  if (!frame.empty()) return Wrong("has bytes after its end");
  return fields;
}

absl::Status CheckText(absl::string_view text) {
  if (text.size() > kMaxTextBytes || !common::IsUtf8(std::string(text))) {
    return Wrong("has a text that is too long or not UTF-8");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeRequest(const EnrolmentRequest& request) {
  return Encode({KindText(request.kind), request.token_id, request.secret, request.csr, request.id,
                 request.name, request.label, request.version});
}

absl::StatusOr<EnrolmentRequest> DecodeRequest(absl::string_view frame) {
  ACCEL_ASSIGN_OR_RETURN(auto fields, Decode<8>(frame));
  EnrolmentRequest request;
  if (fields[0] == KindText(PrincipalKind::kUser)) {
    request.kind = PrincipalKind::kUser;
  } else if (fields[0] != KindText(PrincipalKind::kNode)) {
    return Wrong("is neither a node's nor a user's");
  }
  for (const size_t text : {1, 4, 5, 6, 7}) ACCEL_RETURN_IF_ERROR(CheckText(fields[text]));
  request.token_id = std::move(fields[1]);
  request.secret = std::move(fields[2]);
  request.csr = std::move(fields[3]);
  request.id = std::move(fields[4]);
  request.name = std::move(fields[5]);
  request.label = std::move(fields[6]);
  request.version = std::move(fields[7]);
  return request;
}

std::string EncodeAnswer(const EnrolmentAnswer& answer) {
  // The sentence may quote bytes of the newcomer, so it is made printable. It is cut between
  // characters, because the newcomer refuses an answer that is not UTF-8.
  const std::string sentence =
      common::Shortened(common::Printable(answer.refusal.message()), kMaxTextBytes);
  return Encode({absl::StrCat(answer.refusal.raw_code()), sentence, answer.certificate,
                 answer.authorities, answer.cluster, answer.name});
}

absl::StatusOr<EnrolmentAnswer> DecodeAnswer(absl::string_view frame) {
  ACCEL_ASSIGN_OR_RETURN(auto fields, Decode<6>(frame));
  int code = 0;
  if (!absl::SimpleAtoi(fields[0], &code) || code < 0 || code > 16) {
    return Wrong("has no valid result");
  }
  for (const size_t text : {1, 4, 5}) ACCEL_RETURN_IF_ERROR(CheckText(fields[text]));
  EnrolmentAnswer answer;
  answer.refusal = absl::Status(static_cast<absl::StatusCode>(code), fields[1]);
  answer.certificate = std::move(fields[2]);
  answer.authorities = std::move(fields[3]);
  answer.cluster = std::move(fields[4]);
  answer.name = std::move(fields[5]);
  return answer;
}

}  // namespace accel::security
