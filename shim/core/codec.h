// Encodes and decodes the shim's messages as the payloads of frames (channel.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shim/core/messages.h"

namespace accel::shim {

// Incremented with every change to the payloads. The binary of one side may be replaced while the
// other side runs, so each side rejects a version that it does not speak instead of guessing.
constexpr uint8_t kProtocolVersion = 2;

enum class FrameType : uint8_t { kStart = 1, kStop = 2, kEnd = 3, kReport = 4 };

// The job is over: the shim kills what is left, and exits.
struct EndCommand {};
using ShimCommand = std::variant<StartCommand, StopCommand, EndCommand>;

std::string EncodeCommand(const ShimCommand& command);
std::string EncodeReport(const GenerationReport& report);

// Decode a payload. INVALID_ARGUMENT: the bytes are not exactly one such message, or the message
// contradicts itself (no worker, no argv, limits below 1...).
absl::StatusOr<ShimCommand> DecodeCommand(FrameType type, absl::string_view payload);
absl::StatusOr<GenerationReport> DecodeReport(FrameType type, absl::string_view payload);

}  // namespace accel::shim
