// One end of the inherited socket pair between an agent and a shim (docs/decisions/0002). Frames
// travel in both directions, with descriptors attached. A frame is 'A' 'S', the protocol's version,
// its type, the payload's length (32 bits, little-endian) and the payload.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "shim/core/codec.h"

namespace accel::shim {

constexpr size_t kFrameHeaderBytes = 8;
constexpr size_t kMostWaitingFds = 4;

struct Frame {
  FrameType type = FrameType::kEnd;
  std::string payload;
};

// A pair of connected ends, close-on-exec. The first is for the agent.
std::pair<common::UniqueFd, common::UniqueFd> MakeChannelSockets();

// Neither call blocks. Not thread-safe.
class Channel {
 public:
  explicit Channel(common::UniqueFd socket);

  // Queues a frame, `fd` with it if it is valid, and sends what fits.
  void Send(FrameType type, absl::string_view payload, common::UniqueFd fd = common::UniqueFd());
  void Flush();
  bool has_unsent() const { return !unsent_.empty(); }

  // Takes in what has arrived, whole frames into `frames`. INVALID_ARGUMENT: the other side does
  // not speak our protocol; the channel is of no more use. UNAVAILABLE: end-of-file, the other side
  // is gone (frames that came before it are delivered).
  absl::Status Receive(std::vector<Frame>* frames);

  // The oldest descriptor that came along and was not taken; invalid if there is none.
  common::UniqueFd TakeFd();

  int fd() const { return socket_.get(); }

 private:
  struct Unsent {
    std::string bytes;
    size_t sent = 0;
    common::UniqueFd fd;
  };

  // One recvmsg(2): bytes to the end of incoming_. Its return value.
  ssize_t ReceiveSome();
  absl::Status TakeFrames(std::vector<Frame>* frames);

  common::UniqueFd socket_;
  std::deque<Unsent> unsent_;
  std::string incoming_;
  std::deque<common::UniqueFd> fds_;
};

}  // namespace accel::shim
