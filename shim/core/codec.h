// Encodes and decodes the shim's messages as the payloads of frames (channel.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shim/core/messages.h"

namespace accel::shim {

// Agent and shim may be of different releases, because a shim outlives its agent. Two rules keep
// them able to communicate (docs/decisions/0033):
//
// * A message, and each element of its lists, is a record: its length is known, and new fields are
//   appended. A reader ignores fields beyond those that it knows, and gives its default to an
//   appended field that is missing. A frame of an unknown type is ignored.
// * Any other change increments this version. Each side refuses a peer of another version, and the
//   shim then keeps its job.
constexpr uint8_t kProtocolVersion = 3;

enum class FrameType : uint8_t {
  kStart = 1,
  kStop = 2,
  kEnd = 3,
  kReport = 4,
  kHello = 5,
  kRefusal = 6,
  kContact = 7,
};

// The job is over: the shim kills what is left, and exits.
struct EndCommand {};
// The agent has contact with the coordinator.
struct ContactCommand {};
// A frame whose type only newer releases know.
struct UnknownFrame {};
// Why the shim closes the connection, as a sentence.
struct ShimRefusal {
  std::string why;
};
using ShimCommand =
    std::variant<StartCommand, StopCommand, EndCommand, ContactCommand, UnknownFrame>;
using ShimMessage = std::variant<GenerationReport, ShimHello, ShimRefusal, UnknownFrame>;

std::string EncodeCommand(const ShimCommand& command);
std::string EncodeReport(const GenerationReport& report);
std::string EncodeHello(const ShimHello& hello);

// Decode a payload. INVALID_ARGUMENT: the bytes are not such a message, or the message contradicts
// itself (no worker, no argv, limits below 1...).
absl::StatusOr<ShimCommand> DecodeCommand(FrameType type, absl::string_view payload);
absl::StatusOr<ShimMessage> DecodeMessage(FrameType type, absl::string_view payload);

}  // namespace accel::shim
