#include "coordinator/report_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

}  // namespace

std::string* ReportReader::Parts::Of(int field) {
  if (DescribesNode(field)) return &description;
  switch (field) {
    case v1::NodeObserved::kSequenceFieldNumber:
    case v1::NodeObserved::kMadeUsFieldNumber:
    case v1::NodeObserved::kAnsweredUsFieldNumber:
      return &changing;
    case v1::NodeObserved::kAppliedVersionFieldNumber:
      return &version;
    default:
      return &state;
  }
}

std::optional<ReportReader::Parts> ReportReader::Split(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  if (bytes.Length() > kMostKept || !bytes.DumpToSingleSlice(&slice).ok()) return std::nullopt;
  const absl::string_view whole(reinterpret_cast<const char*>(slice.begin()), slice.size());
  CodedInputStream in(slice.begin(), static_cast<int>(slice.size()));
  Parts parts;
  size_t begin = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (!WireFormatLite::SkipField(&in, tag)) return std::nullopt;
    const auto end = static_cast<size_t>(in.CurrentPosition());
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    absl::StrAppend(parts.Of(field), whole.substr(begin, end - begin));
    begin = end;
  }
  if (!in.ConsumedEntireMessage()) return std::nullopt;
  return parts;
}

absl::StatusOr<NodeReport> ReportReader::Read(const grpc::ByteBuffer& bytes) {
  std::optional<Parts> parts = Split(bytes);
  NodeReport report;
  if (parts.has_value() && before_.has_value() && parts->description == before_->description) {
    // A parser keeps the order of fields only among those with one number, so it takes the groups
    // in any order.
    ACCEL_RETURN_IF_ERROR(Parse(absl::StrCat(parts->state, parts->version, parts->changing),
                                kBounds, &report.observed));
    report.news = parts->state != before_->state       ? News::kState
                  : parts->version != before_->version ? News::kVersion
                                                       : News::kNothing;
  } else {
    ACCEL_RETURN_IF_ERROR(Parse(bytes, kBounds, &report.observed));
  }
  const uint64_t sequence = report.observed.sequence();
  // The coordinator ignores a report whose sequence number does not rise, so none is compared
  // with it.
  const bool counts = !sequence_.has_value() || sequence > *sequence_;
  before_ = counts ? std::move(parts) : std::nullopt;
  if (before_.has_value()) before_->changing.clear();
  if (counts) sequence_ = sequence;
  return report;
}

}  // namespace accel::coordinator
