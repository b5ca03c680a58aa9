#include "coordinator/core/desired.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "common/check.h"

namespace accel::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kGenerationsTag = WireFormatLite::MakeTag(
    v1::NodeDesired::kGenerationsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

}  // namespace

v1::NodeDesired Whole(const Desired& desired) {
  v1::NodeDesired whole;
  ACCEL_CHECK(whole.ParseFromString(Encode(desired)), "what was encoded can be parsed");
  return whole;
}

std::string Encode(const Desired& desired) {
  std::string bytes;
  google::protobuf::io::StringOutputStream strings(&bytes);
  google::protobuf::io::CodedOutputStream out(&strings);
  desired.node.SerializeToCodedStream(&out);
  for (const DesiredPart& part : desired.generations) {
    const size_t shared = part.shared == nullptr ? 0 : part.shared->size();
    out.WriteTag(kGenerationsTag);
    out.WriteVarint32(static_cast<uint32_t>(part.own.ByteSizeLong() + shared));
    part.own.SerializeWithCachedSizes(&out);
    if (shared != 0) out.WriteString(*part.shared);
  }
  out.Trim();
  return bytes;
}

}  // namespace accel::coordinator
