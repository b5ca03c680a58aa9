// The frames between an agent and its shims. Each may be of another release than the other, and a
// worker that took over a shim's process would write to its agent.
#include <sys/socket.h>

#include <variant>
#include <vector>

#include "common/check.h"
#include "shim/channel.h"
#include "shim/core/codec.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::shim {
namespace {

// What was decoded and encoded again decodes to the same. The first bytes may differ, because
// unknown fields are dropped.
void CheckCommand(FrameType type, absl::string_view payload) {
  const auto command = DecodeCommand(type, payload);
  if (!command.ok()) return fuzz::CheckRefusal(command.status());
  const std::string bytes = EncodeCommand(*command);
  const auto again = DecodeCommand(type, bytes);
  if (std::holds_alternative<UnknownFrame>(*command)) return;
  ACCEL_CHECK(again.ok() && EncodeCommand(*again) == bytes, "a command survives its encoding");
}

void CheckReport(const GenerationReport& report) {
  const std::string bytes = EncodeReport(report);
  const auto again = DecodeMessage(FrameType::kReport, bytes);
  ACCEL_CHECK(again.ok(), "a report survives its encoding");
  ACCEL_CHECK(EncodeReport(std::get<GenerationReport>(*again)) == bytes, "nothing of it changes");
}

void CheckHello(const ShimHello& hello) {
  const std::string bytes = EncodeHello(hello);
  const auto again = DecodeMessage(FrameType::kHello, bytes);
  ACCEL_CHECK(again.ok(), "a hello survives its encoding");
  ACCEL_CHECK(EncodeHello(std::get<ShimHello>(*again)) == bytes, "nothing of it changes");
}

void CheckShimMessage(FrameType type, absl::string_view payload) {
  const auto message = DecodeMessage(type, payload);
  if (!message.ok()) return fuzz::CheckRefusal(message.status());
  if (const auto* report = std::get_if<GenerationReport>(&*message)) CheckReport(*report);
  if (const auto* hello = std::get_if<ShimHello>(&*message)) CheckHello(*hello);
}

void CheckPayload(FrameType type, absl::string_view payload) {
  CheckCommand(type, payload);
  CheckShimMessage(type, payload);
}

// Sends the bytes through a socket, as a peer would, and takes the frames in them.
void CheckStream(absl::string_view bytes) {
  auto [ours, theirs] = MakeChannelSockets();
  Channel channel(std::move(ours));
  ACCEL_CHECK(send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(bytes.size()),
              "a socket takes a few kilobytes");
  theirs.reset();
  std::vector<Frame> frames;
  fuzz::CheckRefusal(channel.Receive(&frames));  // At the latest, the other side is gone.
  size_t taken = 0;
  for (const Frame& frame : frames) {
    taken += kFrameHeaderBytes + frame.payload.size();
    CheckPayload(frame.type, frame.payload);
  }
  ACCEL_CHECK(taken <= bytes.size(), "frames hold only what was sent");
}

}  // namespace

FUZZ_TARGET(bytes) {
  CheckStream(bytes);
  const auto frame = DecodeFrame(bytes);
  if (!frame.ok()) fuzz::CheckRefusal(frame.status());
  // Whatever the header says, so that a changed length does not keep a payload from the decoder.
  if (bytes.size() < kFrameHeaderBytes) return;
  CheckPayload(static_cast<FrameType>(bytes[3]), bytes.substr(kFrameHeaderBytes));
}

}  // namespace accel::shim
