#include "coordinator/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace accel::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Maximum depth of nested messages. The schema has no recursion and is less deep than this.
constexpr int kMaxDepth = 16;
constexpr int kNumberBytesPerElement = 8;

// Returns the wire type of one value of the field, which is not packed.
WireFormatLite::WireType WireTypeOf(const FieldDescriptor& field) {
  return WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
}

// Counts the elements of a serialized message without parsing it.
class Counter {
 public:
  explicit Counter(size_t most) : most_(most) {}

  bool over() const { return count_ > most_; }

  // Counts a message of this type up to the stream's limit. Returns false if the message is
  // malformed or has more than `most` elements.
  bool Count(const Descriptor& type, int depth, CodedInputStream* in) {
    while (const uint32_t tag = in->ReadTag()) {
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const auto wire_type = WireFormatLite::GetTagWireType(tag);
      // The parser keeps a field that has another wire type than the schema's as an unknown one.
      const bool known = field != nullptr && wire_type == WireTypeOf(*field);
      // No message of ours has groups, and an unknown one could hold any number of fields.
      if (wire_type == WireFormatLite::WIRETYPE_START_GROUP) return false;
      if (wire_type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!known && !Add(1)) return false;
        if (!WireFormatLite::SkipField(in, tag)) return false;
      } else if (!CountDelimited(field, depth, in)) {
        return false;
      }
    }
    return in->ConsumedEntireMessage();
  }

 private:
  bool CountDelimited(const FieldDescriptor* field, int depth, CodedInputStream* in) {
    int length = 0;
    if (!in->ReadVarintSizeAsInt(&length) || length < 0) return false;
    const bool numbers = field != nullptr && field->is_packable();
    if (!Add(1 + (numbers ? static_cast<size_t>(length) / kNumberBytesPerElement : 0))) {
      return false;
    }
    if (field == nullptr || field->type() != FieldDescriptor::TYPE_MESSAGE) return in->Skip(length);
    if (depth == kMaxDepth) return false;
    const CodedInputStream::Limit outer = in->PushLimit(length);
    // PushLimit() ignores a length that exceeds the outer limit, so such a length is refused here.
    if (in->BytesUntilLimit() != length) return false;
    if (!Count(*field->message_type(), depth + 1, in)) return false;
    in->PopLimit(outer);
    return true;
  }

  bool Add(size_t elements) {
    count_ += elements;
    return !over();
  }

  const size_t most_;
  size_t count_ = 0;
};

absl::Status TooMuch(const google::protobuf::Message& message, size_t most,
                     absl::string_view of_what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      message.GetDescriptor()->name(), ": has more than ", most, " ", of_what, ", the maximum"));
}

}  // namespace

absl::Status Parse(absl::string_view bytes, const WireBounds& bounds,
                   google::protobuf::Message* message) {
  message->Clear();
  if (bytes.size() > bounds.bytes) return TooMuch(*message, bounds.bytes, "bytes");
  const int size = static_cast<int>(bytes.size());
  CodedInputStream counted(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  counted.PushLimit(size);
  Counter counter(bounds.elements);
  const bool well_formed = counter.Count(*message->GetDescriptor(), 0, &counted);
  if (counter.over()) return TooMuch(*message, bounds.elements, "elements");
  if (well_formed && message->ParseFromArray(bytes.data(), size)) return absl::OkStatus();
  const std::string name = message->GetDescriptor()->name();
  message->Clear();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": these ", size,
                   " bytes are not such a message; check that both sides have the same version"));
}

absl::Status Parse(const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                   google::protobuf::Message* message) {
  message->Clear();
  if (bytes.Length() > bounds.bytes) return TooMuch(*message, bounds.bytes, "bytes");
  grpc::Slice slice;
  if (!bytes.DumpToSingleSlice(&slice).ok()) {
    return absl::ResourceExhaustedError("the message cannot be held in memory");
  }
  return Parse(absl::string_view(reinterpret_cast<const char*>(slice.begin()), slice.size()),
               bounds, message);
}

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  const grpc::Status status =
      grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                 &own);
  ACCEL_CHECK(status.ok(), "a message that is in memory can be written to memory");
  return bytes;
}

grpc::ByteBuffer ToBytes(const Desired& desired) {
  grpc_slice bytes;
  Encode(desired, [&bytes](size_t size) {
    bytes = grpc_slice_malloc(size);
    return GRPC_SLICE_START_PTR(bytes);
  });
  const grpc::Slice slice(bytes, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace accel::coordinator
