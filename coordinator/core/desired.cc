#include "coordinator/core/desired.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "absl/strings/string_view.h"

namespace accel::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kGenerationsTag = WireFormatLite::MakeTag(
    v1::NodeDesired::kGenerationsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

}  // namespace

v1::NodeDesired Whole(const Desired& desired) {
  v1::NodeDesired whole = desired.node;
  for (const DesiredPart& part : desired.generations) {
    v1::DesiredGeneration* generation = whole.add_generations();
    if (part.shared != nullptr) *generation = part.shared->message;
    generation->MergeFrom(part.own);
  }
  return whole;
}

std::string Encode(const Desired& desired) {
  std::string bytes;
  google::protobuf::io::StringOutputStream strings(&bytes);
  google::protobuf::io::CodedOutputStream out(&strings);
  desired.node.SerializeToCodedStream(&out);
  for (const DesiredPart& part : desired.generations) {
    absl::string_view shared;
    if (part.shared != nullptr) shared = part.shared->bytes;
    out.WriteTag(kGenerationsTag);
    out.WriteVarint32(static_cast<uint32_t>(shared.size() + part.own.ByteSizeLong()));
    out.WriteRaw(shared.data(), static_cast<int>(shared.size()));
    part.own.SerializeWithCachedSizes(&out);
  }
  out.Trim();
  return bytes;
}

}  // namespace accel::coordinator
