// Messages of the shim as bytes: what a frame (channel.h) carries.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shim/core/messages.h"

namespace accel::shim {

// Rises with every change to what the frames carry. A shim outlives its agent's upgrade, so either
// side refuses what it does not speak instead of guessing.
constexpr uint8_t kProtocolVersion = 2;

enum class FrameType : uint8_t { kStart = 1, kStop = 2, kEnd = 3, kReport = 4 };

// The job is over: kill what is left, and exit.
struct ShimEnd {};
using ShimCommand = std::variant<GenerationStart, GenerationStop, ShimEnd>;

std::string EncodeCommand(const ShimCommand& command);
std::string EncodeReport(const GenerationReport& report);

// INVALID_ARGUMENT: the bytes are not exactly one such message, or one that contradicts itself (no
// worker, no argv, limits below 1...).
absl::StatusOr<ShimCommand> DecodeCommand(FrameType type, absl::string_view payload);
absl::StatusOr<GenerationReport> DecodeReport(FrameType type, absl::string_view payload);

}  // namespace accel::shim
