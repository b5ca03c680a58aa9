#include "runtime/tracking/tensorboard_events.h"

#include <string_view>
#include <type_traits>

#include "runtime/core/crc32c.h"
#include "runtime/tracking/proto_writer.h"
#include "runtime/tracking/tracked_json.h"

namespace accel::runtime {
namespace {

using Message = ProtoWriter;

void add_little_endian(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

// TFRecord's checksum. It is a rotated CRC plus a constant, because the CRC of data that contains
// its own CRC is weak.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = extend_crc32c(0, bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string record_of(const Message& event) {
  std::string record;
  add_little_endian(record, event.bytes().size(), 8);
  add_little_endian(record, masked_crc(record), 4);
  record += event.bytes();
  add_little_endian(record, masked_crc(event.bytes()), 4);
  return record;
}

// A tensorflow.Event.
Message event_at(WallTime now, std::int64_t step = 0) {
  Message event;
  event.add_double(1, now);
  if (step != 0) event.add_integer(2, step);
  return event;
}
constexpr int kFileVersion = 3, kSummary = 5, kSessionLog = 7;

// tensorflow.SummaryMetadata of a plugin.
Message metadata_for(std::string_view plugin, std::string_view content = {}) {
  Message data;
  data.add_text(1, plugin);
  if (!content.empty()) data.add_bytes(2, content);
  return Message().add_message(1, data);
}

// tensorflow.Summary.Value.
constexpr int kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;

Message scalar(std::string_view tag, double value) {
  return Message().add_text(kTag, tag).add_float(kSimpleValue, static_cast<float>(value));
}

Message text(std::string_view tag, std::string_view content) {
  constexpr int kString = 7;  // tensorflow.DT_STRING
  Message size, shape, tensor;
  size.add_integer(1, 1);
  shape.add_message(2, size);
  tensor.add_integer(1, kString).add_message(2, shape).add_text(8, content);
  return Message()
      .add_text(kTag, tag)
      .add_message(kTensor, tensor)
      .add_message(kMetadata, metadata_for("text"));
}

Message summary_of_value(const std::string& tag, const TrackedValue& value) {
  return std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, std::string>) {
          return text(tag, held);
        } else {
          return scalar(tag, static_cast<double>(held));
        }
      },
      value.get());
}

// google.protobuf.Value.
Message protobuf_value(const TrackedValue& value) {
  struct Writer {
    Message message;
    void operator()(bool truth) { message.add_integer(4, truth); }
    void operator()(std::int64_t number) { message.add_double(2, static_cast<double>(number)); }
    void operator()(double number) { message.add_double(2, number); }
    void operator()(const std::string& text) { message.add_text(3, text); }
  } writer;
  std::visit(writer, value.get());
  return writer.message;
}

// A value for the HPARAMS tab, with HParamsPluginData in its metadata.
Message hparams(std::string_view tag, int field, const Message& info) {
  Message data;
  data.add_integer(1, 0);
  data.add_message(field, info);
  return Message().add_text(kTag, tag).add_message(kMetadata,
                                                   metadata_for("hparams", data.bytes()));
}

std::string markdown_cell(const TrackedValue& value) {
  const auto* text = std::get_if<std::string>(&value.get());
  std::string cell;
  for (const char c : text != nullptr ? *text : to_json(value)) {
    cell += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  }
  return cell;
}

}  // namespace

std::string version_record(WallTime now) {
  return record_of(event_at(now).add_text(kFileVersion, "brain.Event:2"));
}

std::string restart_record(WallTime now, std::int64_t step) {
  constexpr int kStart = 1;  // tensorflow.SessionLog.START
  return record_of(event_at(now, step).add_message(kSessionLog, Message().add_integer(1, kStart)));
}

std::string values_record(WallTime now, const TrackedValues& values,
                          std::optional<std::int64_t> step) {
  Message summary;
  for (const auto& [tag, value] : values) summary.add_message(1, summary_of_value(tag, value));
  return record_of(event_at(now, step.value_or(0)).add_message(kSummary, summary));
}

std::string config_record(WallTime now, const TrackedValues& config) {
  std::string table = "| name | value |\n|---|---|\n";
  Message session;
  for (const auto& [name, value] : config) {
    table += "| " + markdown_cell(name) + " | " + markdown_cell(value) + " |\n";
    session.add_message(1, Message().add_text(1, name).add_message(2, protobuf_value(value)));
  }
  session.add_double(5, now);
  Message summary;
  summary.add_message(1, text("config", table));
  summary.add_message(1, hparams("_hparams_/session_start_info", 3, session));
  return record_of(event_at(now).add_message(kSummary, summary));
}

std::string end_record(WallTime now) {
  constexpr int kSuccess = 1;
  const Message info = Message().add_integer(1, kSuccess).add_double(2, now);
  Message summary;
  summary.add_message(1, hparams("_hparams_/session_end_info", 4, info));
  return record_of(event_at(now).add_message(kSummary, summary));
}

}  // namespace accel::runtime
