#include "coordinator/gate/core/first_record.h"

namespace accel::coordinator {
namespace {

constexpr absl::string_view kEnrolmentPreface = "ACCELEN1";
constexpr unsigned char kHandshakeRecord = 0x16;
constexpr unsigned char kTlsMajorVersion = 3;
constexpr size_t kRecordHeader = 5;

Protocol MatchEnrolment(absl::string_view bytes) {
  const absl::string_view common = bytes.substr(0, kEnrolmentPreface.size());
  if (common != kEnrolmentPreface.substr(0, common.size())) return Protocol::kUnknown;
  return common.size() == kEnrolmentPreface.size() ? Protocol::kEnrolment : Protocol::kUnfinished;
}

Protocol MatchTls(absl::string_view bytes) {
  const auto byte = [bytes](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  if (bytes.size() > 1 && byte(1) != kTlsMajorVersion) return Protocol::kUnknown;
  if (bytes.size() < kRecordHeader) return Protocol::kUnfinished;
  const size_t length = kRecordHeader + (size_t{byte(3)} << 8) + byte(4);
  if (length == kRecordHeader || length > kMaxFirstRecord) return Protocol::kUnknown;
  return bytes.size() >= length ? Protocol::kTls : Protocol::kUnfinished;
}

}  // namespace

Protocol Recognise(absl::string_view bytes) {
  if (bytes.empty()) return Protocol::kUnfinished;
  if (bytes[0] == kEnrolmentPreface[0]) return MatchEnrolment(bytes);
  if (static_cast<unsigned char>(bytes[0]) == kHandshakeRecord) return MatchTls(bytes);
  return Protocol::kUnknown;
}

}  // namespace accel::coordinator
