#include "coordinator/core/desired.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "common/check.h"

namespace accel::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

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

void Encode(const Desired& desired, absl::FunctionRef<uint8_t*(size_t)> allocate) {
  size_t size = desired.node.ByteSizeLong();
  std::vector<uint32_t> part_sizes;
  part_sizes.reserve(desired.generations.size());
  for (const DesiredPart& part : desired.generations) {
    const size_t shared = part.shared == nullptr ? 0 : part.shared->bytes.size();
    part_sizes.push_back(static_cast<uint32_t>(shared + part.own.ByteSizeLong()));
    size += CodedOutputStream::VarintSize32(kGenerationsTag) +
            CodedOutputStream::VarintSize32(part_sizes.back()) + part_sizes.back();
  }
  uint8_t* const bytes = allocate(size);
  uint8_t* end = desired.node.SerializeWithCachedSizesToArray(bytes);
  for (size_t i = 0; i < part_sizes.size(); ++i) {
    const DesiredPart& part = desired.generations[i];
    end = CodedOutputStream::WriteTagToArray(kGenerationsTag, end);
    end = CodedOutputStream::WriteVarint32ToArray(part_sizes[i], end);
    if (part.shared != nullptr) {
      end = std::copy(part.shared->bytes.begin(), part.shared->bytes.end(), end);
    }
    end = part.own.SerializeWithCachedSizesToArray(end);
  }
  ACCEL_CHECK(end == bytes + size, "the size of a message is known before it is written");
}

}  // namespace accel::coordinator
