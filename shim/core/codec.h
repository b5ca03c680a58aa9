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
// * A message, and each element of its lists, is a record with a length. New fields are appended to
//   a record. A reader ignores fields beyond those that it knows. If an appended field is missing,
//   the reader uses the field's default. A frame of an unknown type is ignored.
// * Any other change increments this version. Each side refuses a peer of another version. The
//   shim's job then continues if it outlives its agent.
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

// Ends the job: the shim kills the remaining processes and exits.
struct EndCommand {};
// Says that the agent has contact with the coordinator.
struct ContactCommand {};
// A frame whose type only newer releases know.
struct UnknownFrame {};
// Says why the shim closes the connection, as a sentence.
struct ShimRefusal {
  std::string why;
};
using ShimCommand =
    std::variant<StartCommand, StopCommand, EndCommand, ContactCommand, UnknownFrame>;
using ShimMessage = std::variant<GenerationReport, ShimHello, ShimRefusal, UnknownFrame>;

std::string EncodeCommand(const ShimCommand& command);
std::string EncodeReport(const GenerationReport& report);
std::string EncodeHello(const ShimHello& hello);

// Decode the payload of a frame. INVALID_ARGUMENT: the bytes are not a message of this type, or the
// message is invalid, for example without a worker or argv.
absl::StatusOr<ShimCommand> DecodeCommand(FrameType type, absl::string_view payload);
absl::StatusOr<ShimMessage> DecodeMessage(FrameType type, absl::string_view payload);

}  // namespace accel::shim
