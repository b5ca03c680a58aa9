// The messages of clients and agents, from the bytes of a call to what the coordinator believes.
//
// The first byte of the input chooses the message.
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <string>
#include <vector>

#include "common/check.h"
#include "coordinator/core/job_spec.h"
#include "coordinator/core/report.h"
#include "coordinator/wire.h"
#include "proto/access.pb.h"
#include "proto/service.pb.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownFieldSet;

constexpr WireBounds kBounds{4096, 200};

size_t UnknownElements(const UnknownFieldSet& fields) {
  size_t count = static_cast<size_t>(fields.field_count());
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.type() == google::protobuf::UnknownField::TYPE_GROUP) {
      count += UnknownElements(field.group());
    }
  }
  return count;
}

// Counts the strings, submessages and unknown fields that the message has in memory.
size_t Elements(const Message& message) {
  const auto& reflection = *message.GetReflection();
  size_t count = UnknownElements(reflection.GetUnknownFields(message));
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) count += static_cast<size_t>(size);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int i = 0; i < size; ++i) {
      count += 1 + Elements(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                 : reflection.GetMessage(message, field));
    }
  }
  return count;
}

// Parses the bytes. Returns false if they are refused.
bool ParseInto(absl::string_view bytes, Message* message) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  const absl::Status status = Parse(grpc::ByteBuffer(&slice, 1), kBounds, message);
  if (!status.ok()) {
    fuzz::CheckRefusal(status);
    ACCEL_CHECK(Elements(*message) == 0, "after an error the message is empty");
    return false;
  }
  ACCEL_CHECK(bytes.size() <= kBounds.bytes, "large messages are refused");
  ACCEL_CHECK(Elements(*message) <= kBounds.elements, "messages of many elements are refused");
  return true;
}

void CheckSubmit(absl::string_view bytes) {
  v1::SubmitJobRequest request;
  if (!ParseInto(bytes, &request)) return;
  const absl::Status status = ValidateJobSpec(request.spec());
  if (!status.ok()) return fuzz::CheckRefusal(status);
  ACCEL_CHECK(request.spec().nodes() > 0 && !request.spec().argv(0).empty(),
              "a job runs something");
  ACCEL_CHECK(MinNodes(request.spec()) > 0 && !ShapeOf(request.spec()).empty(), "it has a shape");
}

void CheckObserved(absl::string_view bytes) {
  v1::NodeObserved report;
  if (!ParseInto(bytes, &report)) return;
  const absl::Status status = coordinator::CheckReport(report);
  if (!status.ok()) return fuzz::CheckRefusal(status);
  CutTexts(&report);
  const std::string cut = report.SerializeAsString();
  v1::NodeObserved again;
  ACCEL_CHECK(again.ParseFromString(cut), "a report with cut texts is still valid");
  CutTexts(&again);
  ACCEL_CHECK(again.SerializeAsString() == cut, "texts are cut once");
}

template <typename Request>
void CheckOther(absl::string_view bytes) {
  Request request;
  if (!ParseInto(bytes, &request)) return;
  Request again;
  ACCEL_CHECK(Parse(ToBytes(request), {2 * kBounds.bytes, kBounds.elements}, &again).ok(),
              "what was parsed can be sent");
}

}  // namespace

FUZZ_TARGET(bytes) {
  constexpr void (*kChecks[])(absl::string_view) = {
      CheckSubmit, CheckObserved, CheckOther<v1::ReadLogsRequest>, CheckOther<v1::RevokeRequest>};
  google::protobuf::SetLogHandler(nullptr);  // It has a line for each text that is not UTF-8.
  if (bytes.empty()) return;
  kChecks[static_cast<unsigned char>(bytes[0]) % std::size(kChecks)](bytes.substr(1));
}

}  // namespace accel::coordinator
