// One end of a connection between an agent and a shim (docs/decisions/0032). Frames travel in both
// directions, and may have file descriptors attached. A frame consists of 'A' 'S', the protocol's
// version, its type, the payload's length (32 bits, little-endian) and the payload. This layout is
// the same in all versions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "shim/core/codec.h"

namespace accel::shim {

constexpr size_t kFrameHeaderBytes = 8;
constexpr size_t kMaxWaitingFds = 4;

struct Frame {
  FrameType type = FrameType::kEnd;
  std::string payload;
};

// Returns two connected sockets, close-on-exec. The first is the agent's. Both are invalid if no
// descriptor is left.
std::pair<common::UniqueFd, common::UniqueFd> MakeChannelSockets();

// Returns the bytes of a frame, to store them in a file.
std::string EncodeFrame(FrameType type, absl::string_view payload);
// Returns the only frame in `bytes`. Errors are those of Channel::Receive().
absl::StatusOr<Frame> DecodeFrame(absl::string_view bytes);

// Not thread-safe. No call blocks.
class Channel {
 public:
  explicit Channel(common::UniqueFd socket);

  // Queues a frame, together with `fd` if that is valid, and sends as much as fits.
  void Send(FrameType type, absl::string_view payload, common::UniqueFd fd = common::UniqueFd());
  void Flush();
  bool has_unsent() const { return !unsent_.empty(); }

  // Appends the whole frames that have arrived to `frames`. After an error the channel can no
  // longer be used, but `frames` has the frames that arrived before the error. FAILED_PRECONDITION:
  // the other side has another version of the protocol. INVALID_ARGUMENT: the bytes are not of this
  // protocol. UNAVAILABLE: the other side is gone.
  absl::Status Receive(std::vector<Frame>* frames);

  // Returns the oldest descriptor that has arrived and was not taken yet. Invalid if there is none.
  common::UniqueFd TakeFd();

  int fd() const { return socket_.get(); }

 private:
  struct Unsent {
    std::string bytes;
    size_t sent = 0;
    common::UniqueFd fd;
  };

  // Calls recvmsg(2) once, appends the bytes to incoming_, and returns its result.
  ssize_t ReceiveSome();
  absl::Status TakeFrames(std::vector<Frame>* frames);

  common::UniqueFd socket_;
  std::deque<Unsent> unsent_;
  std::string incoming_;
  std::deque<common::UniqueFd> fds_;
};

}  // namespace accel::shim
