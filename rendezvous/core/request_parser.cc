#include "rendezvous/core/request_parser.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace accel::rendezvous {
namespace {

enum Field : uint8_t { kEnd, kU32, kI64, kKey, kValue, kKeys, kPairs };

// The fields after the type byte, indexed by QueryType.
constexpr uint8_t kLayouts[kQueryTypes][4] = {
    {kU32, kEnd},                  // kValidate
    {kKey, kValue, kEnd},          // kSet
    {kKey, kValue, kValue, kEnd},  // kCompareSet
    {kKey, kEnd},                  // kGet
    {kKey, kI64, kEnd},            // kAdd
    {kKeys, kEnd},                 // kCheck
    {kKeys, kEnd},                 // kWait
    {kEnd},                        // kNumKeys
    {kKey, kEnd},                  // kDeleteKey
    {kKey, kValue, kEnd},          // kAppend
    {kKeys, kEnd},                 // kMultiGet
    {kPairs, kEnd},                // kMultiSet
    {kEnd},                        // kCancelWait
    {kU32, kEnd},                  // kPing
    {kKey, kValue, kEnd},          // kQueuePush
    {kKey, kEnd},                  // kQueuePop
    {kKey, kEnd},                  // kQueueLen
    {kEnd},                        // kListKeys
};

constexpr size_t kLengthBytes = sizeof(uint64_t);

uint64_t ReadU64(absl::string_view bytes, size_t offset) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<size_t> RequestParser::Parse(absl::string_view bytes, Request* request) {
  if (bytes.size() < needed_) return 0;
  if (scanned_ == 0) {
    type_ = static_cast<uint8_t>(bytes[0]);
    if (type_ >= kQueryTypes) {
      return absl::InvalidArgumentError(absl::StrCat("unknown query type ", int{type_}));
    }
    scanned_ = 1;
  }
  for (; kLayouts[type_][field_] != kEnd; ++field_) {
    const Step step = ParseField(bytes, kLayouts[type_][field_]);
    if (step == Step::kNeedMore) return 0;
    if (step == Step::kInvalid) return InvalidField();
  }
  Decode(bytes, request);
  const size_t length = scanned_;
  Reset();
  return length;
}

RequestParser::Step RequestParser::ParseField(absl::string_view bytes, uint8_t kind) {
  switch (kind) {
    case kU32:
      return ParseNumber(bytes, sizeof(uint32_t));
    case kI64:
      return ParseNumber(bytes, sizeof(int64_t));
    case kKey:
    case kValue: {
      const size_t limit = kind == kKey ? limits_->max_key_bytes : limits_->max_value_bytes;
      const Step step = ParseString(bytes, limit, &strings_at_[strings_]);
      if (step == Step::kDone) ++strings_;
      return step;
    }
    default:
      return ParseList(bytes, kind == kPairs);
  }
}

RequestParser::Step RequestParser::ParseNumber(absl::string_view bytes, size_t width) {
  if (bytes.size() - scanned_ < width) return Need(scanned_ + width);
  number_ = 0;
  std::memcpy(&number_, bytes.data() + scanned_, width);
  scanned_ += width;
  return Step::kDone;
}

RequestParser::Step RequestParser::ParseString(absl::string_view bytes, size_t limit, Span* span) {
  const size_t left = bytes.size() - scanned_;
  if (left < kLengthBytes) return Need(scanned_ + kLengthBytes);
  const uint64_t length = ReadU64(bytes, scanned_);
  if (length > limit || scanned_ + kLengthBytes + length > limits_->max_request_bytes) {
    refused_ = length;
    return Step::kInvalid;
  }
  if (left - kLengthBytes < length) return Need(scanned_ + kLengthBytes + length);
  *span = {scanned_ + kLengthBytes, length};
  scanned_ += kLengthBytes + length;
  return Step::kDone;
}

RequestParser::Step RequestParser::ParseList(absl::string_view bytes, bool pairs) {
  if (!in_list_) {
    if (bytes.size() - scanned_ < kLengthBytes) return Need(scanned_ + kLengthBytes);
    list_length_ = ReadU64(bytes, scanned_);
    if (list_length_ > limits_->max_list_length) {
      refused_ = list_length_;
      return Step::kInvalid;
    }
    scanned_ += kLengthBytes;
    list_.offset = scanned_;
    list_left_ = pairs ? 2 * list_length_ : list_length_;
    in_list_ = true;
  }
  for (; list_left_ > 0; --list_left_) {
    const bool is_value = pairs && list_left_ % 2 == 1;
    Span span;
    const Step step =
        ParseString(bytes, is_value ? limits_->max_value_bytes : limits_->max_key_bytes, &span);
    if (step != Step::kDone) return step;
  }
  list_.length = scanned_ - list_.offset;
  return Step::kDone;
}

RequestParser::Step RequestParser::Need(size_t total) {
  needed_ = total;
  return Step::kNeedMore;
}

void RequestParser::Decode(absl::string_view bytes, Request* request) {
  const auto at = [&bytes](const Span& span) { return bytes.substr(span.offset, span.length); };
  request->type = static_cast<QueryType>(type_);
  request->number = number_;
  if (strings_ > 0) request->key = at(strings_at_[0]);
  if (strings_ > 1) request->value = at(strings_at_[1]);
  if (strings_ > 2) request->desired = at(strings_at_[2]);
  if (in_list_) {
    request->list = EncodedStrings(at(list_));
    request->list_length = list_length_;
  }
}

void RequestParser::Reset() {
  field_ = strings_ = 0;
  in_list_ = false;
  scanned_ = 0;
  needed_ = 1;
}

absl::Status RequestParser::InvalidField() const {
  return absl::InvalidArgumentError(absl::StrCat("query type ", int{type_}, ": length ", refused_,
                                                 " at byte ", scanned_, " is over the limit"));
}

}  // namespace accel::rendezvous
