#include "coordinator/gate/core/first_record.h"

namespace accel::coordinator {
namespace {

constexpr absl::string_view kEnrolmentPreface = "ACCELEN1";
constexpr absl::string_view kCleartextPreface = "PRI * HT";
constexpr unsigned char kHandshakeRecord = 0x16;
constexpr unsigned char kTlsMajorVersion = 3;
constexpr size_t kRecordHeader = 5;

// Returns `protocol` once `bytes` begin with the whole preface.
Protocol Match(absl::string_view bytes, absl::string_view preface, Protocol protocol) {
  const absl::string_view common = bytes.substr(0, preface.size());
  if (common != preface.substr(0, common.size())) return Protocol::kUnknown;
  return common.size() == preface.size() ? protocol : Protocol::kUnfinished;
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
  if (bytes[0] == kEnrolmentPreface[0]) {
    return Match(bytes, kEnrolmentPreface, Protocol::kEnrolment);
  }
  if (bytes[0] == kCleartextPreface[0]) {
    return Match(bytes, kCleartextPreface, Protocol::kCleartext);
  }
  if (static_cast<unsigned char>(bytes[0]) == kHandshakeRecord) return MatchTls(bytes);
  return Protocol::kUnknown;
}

}  // namespace accel::coordinator
