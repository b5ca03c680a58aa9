#include "coordinator/report_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Compares one group of a report with that of the report before, run by run.
class Comparison {
 public:
  explicit Comparison(absl::string_view before) : before_(before) {}

  void Add(absl::string_view run) {
    same_ = same_ && absl::StartsWith(before_, run);
    before_.remove_prefix(std::min(before_.size(), run.size()));
  }
  // Returns true if the groups are the same. After the last run.
  bool same() const { return same_ && before_.empty(); }

 private:
  absl::string_view before_;  // The part that was not compared yet.
  bool same_ = true;
};

}  // namespace

ReportReader::Group ReportReader::GroupOf(int field) {
  if (DescribesNode(field)) return kDescription;
  switch (field) {
    case v1::NodeObserved::kSequenceFieldNumber:
    case v1::NodeObserved::kMadeUsFieldNumber:
    case v1::NodeObserved::kAnsweredUsFieldNumber:
      return kChanging;
    case v1::NodeObserved::kAppliedVersionFieldNumber:
      return kVersion;
    default:
      return kState;
  }
}

bool ReportReader::ForEachRun(absl::string_view bytes,
                              absl::FunctionRef<void(Group, absl::string_view)> fn) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  Group group = kState;
  size_t begin = 0;
  size_t end = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (!WireFormatLite::SkipField(&in, tag)) return false;
    const Group next = GroupOf(WireFormatLite::GetTagFieldNumber(tag));
    if (next != group) {
      fn(group, bytes.substr(begin, end - begin));
      group = next;
      begin = end;
    }
    end = static_cast<size_t>(in.CurrentPosition());
  }
  fn(group, bytes.substr(begin, end - begin));
  return in.ConsumedEntireMessage();
}

News ReportReader::Compare(absl::string_view bytes, std::string* rest) const {
  Comparison description((*before_)[kDescription]);
  Comparison state((*before_)[kState]);
  Comparison version((*before_)[kVersion]);
  rest->reserve(bytes.size() - std::min(bytes.size(), (*before_)[kDescription].size()));
  const bool is_message = ForEachRun(bytes, [&](Group group, absl::string_view run) {
    if (group == kDescription) return description.Add(run);
    if (group == kState) state.Add(run);
    if (group == kVersion) version.Add(run);
    rest->append(run.data(), run.size());
  });
  if (!is_message || !description.same()) return News::kDescription;
  if (!state.same()) return News::kState;
  return version.same() ? News::kNothing : News::kVersion;
}

void ReportReader::Keep(absl::string_view bytes, News news) {
  if (news == News::kNothing) return;
  if (!before_.has_value()) before_.emplace();
  Groups& groups = *before_;
  groups[kState].clear();
  groups[kVersion].clear();
  if (news == News::kDescription) groups[kDescription].clear();
  const bool is_message = ForEachRun(bytes, [&](Group group, absl::string_view run) {
    if (group == kChanging || (group == kDescription && news != News::kDescription)) return;
    groups[group].append(run.data(), run.size());
  });
  if (!is_message) before_.reset();
}

absl::StatusOr<NodeReport> ReportReader::Read(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  const bool may_keep = bytes.Length() <= kMostKept && bytes.DumpToSingleSlice(&slice).ok();
  const absl::string_view whole(reinterpret_cast<const char*>(slice.begin()), slice.size());
  NodeReport report;
  std::string rest;
  if (may_keep && before_.has_value()) report.news = Compare(whole, &rest);
  // A parser keeps the order of fields only among those with one number, so it takes the rest
  // without the description.
  ACCEL_RETURN_IF_ERROR(report.news == News::kDescription ? Parse(bytes, kBounds, &report.observed)
                                                          : Parse(rest, kBounds, &report.observed));
  const uint64_t sequence = report.observed.sequence();
  // The coordinator ignores a report whose sequence number does not rise, so none is compared
  // with it.
  const bool counts = !sequence_.has_value() || sequence > *sequence_;
  if (counts) sequence_ = sequence;
  if (may_keep && counts) {
    Keep(whole, report.news);
  } else {
    before_.reset();
  }
  return report;
}

}  // namespace accel::coordinator
