#include "shim/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "shim/core/wire.h"

namespace accel::shim {
namespace {

constexpr uint8_t kMagic[] = {'A', 'S'};
constexpr size_t kReceiveBytes = 16 << 10;
// Maximum number of reads in one call, so that a flood of frames leaves time for other work.
constexpr int kMaxReceives = 64;

struct ParsedHeader {
  FrameType type = FrameType::kEnd;
  size_t payload_size = 0;
};

absl::StatusOr<ParsedHeader> ParseHeader(absl::string_view bytes) {
  WireReader in(bytes.substr(0, kFrameHeaderBytes));
  const bool magic = in.U8() == kMagic[0] && in.U8() == kMagic[1];
  if (!magic)
    return absl::InvalidArgumentError("The received bytes are not a frame of accel's protocol.");
  const int version = in.U8();
  if (version != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("The other side has version ", version,
                                                      " of the shim protocol, this one version ",
                                                      kProtocolVersion, "."));
  }
  ParsedHeader header;
  header.type = static_cast<FrameType>(in.U8());
  header.payload_size = in.U32();
  if (header.payload_size > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("A frame of ", header.payload_size,
                                                   " bytes is larger than the limit of ",
                                                   kMaxPayloadBytes, "."));
  }
  return header;
}

}  // namespace

std::pair<common::UniqueFd, common::UniqueFd> MakeChannelSockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {common::UniqueFd(ends[0]), common::UniqueFd(ends[1])};
}

std::string EncodeFrame(FrameType type, absl::string_view payload) {
  WireWriter header;
  header.U8(kMagic[0]);
  header.U8(kMagic[1]);
  header.U8(kProtocolVersion);
  header.U8(static_cast<uint8_t>(type));
  header.U32(static_cast<uint32_t>(payload.size()));
  std::string bytes = header.Take();
  bytes.append(payload.data(), payload.size());
  return bytes;
}

absl::StatusOr<Frame> DecodeFrame(absl::string_view bytes) {
  if (bytes.size() < kFrameHeaderBytes) return absl::InvalidArgumentError("No whole frame.");
  const absl::StatusOr<ParsedHeader> header = ParseHeader(bytes);
  if (!header.ok()) return header.status();
  bytes.remove_prefix(kFrameHeaderBytes);
  if (bytes.size() != header->payload_size) return absl::InvalidArgumentError("No whole frame.");
  return Frame{header->type, std::string(bytes)};
}

Channel::Channel(common::UniqueFd socket) : socket_(std::move(socket)) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void Channel::Send(FrameType type, absl::string_view payload, common::UniqueFd fd) {
  ACCEL_CHECK(payload.size() <= kMaxPayloadBytes, "senders bound their messages");
  unsent_.push_back({EncodeFrame(type, payload), 0, std::move(fd)});
  Flush();
}

void Channel::Flush() {
  while (!unsent_.empty()) {
    Unsent& next = unsent_.front();
    iovec piece = {next.bytes.data() + next.sent, next.bytes.size() - next.sent};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (next.fd.valid()) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = next.fd.get();
      memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    }
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) {  // The other side is gone. Receive() reports that.
      unsent_.clear();
      return;
    }
    next.fd.reset();
    next.sent += static_cast<size_t>(sent);
    if (next.sent == next.bytes.size()) unsent_.pop_front();
  }
}

ssize_t Channel::ReceiveSome() {
  const size_t before = incoming_.size();
  incoming_.resize(before + kReceiveBytes);
  iovec piece = {incoming_.data() + before, kReceiveBytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxWaitingFds * sizeof(int))];
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size = -1;
  do {
    size = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  incoming_.resize(before + static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size < 0) return size;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      fds_.emplace_back(fd);
    }
  }
  return size;
}

absl::Status Channel::TakeFrames(std::vector<Frame>* frames) {
  size_t at = 0;
  absl::Status status;
  while (incoming_.size() - at >= kFrameHeaderBytes) {
    const auto header = ParseHeader(absl::string_view(incoming_).substr(at));
    if (!header.ok()) {
      status = header.status();
      break;
    }
    if (incoming_.size() - at < kFrameHeaderBytes + header->payload_size) break;
    frames->push_back(
        {header->type, incoming_.substr(at + kFrameHeaderBytes, header->payload_size)});
    at += kFrameHeaderBytes + header->payload_size;
  }
  incoming_.erase(0, at);
  if (incoming_.empty()) incoming_.shrink_to_fit();
  return status;
}

absl::Status Channel::Receive(std::vector<Frame>* frames) {
  for (int i = 0; i < kMaxReceives; ++i) {
    const ssize_t size = ReceiveSome();
    if (size < 0 && errno == EAGAIN) return absl::OkStatus();
    // A peer that died without reading all of our bytes causes ECONNRESET, so any error here
    // means that it is gone.
    if (size <= 0) return absl::UnavailableError("The other side is gone.");
    if (fds_.size() > kMaxWaitingFds) {
      return absl::InvalidArgumentError("More descriptors arrived than any message carries.");
    }
    if (absl::Status status = TakeFrames(frames); !status.ok()) return status;
  }
  return absl::OkStatus();
}

common::UniqueFd Channel::TakeFd() {
  if (fds_.empty()) return common::UniqueFd();
  common::UniqueFd fd = std::move(fds_.front());
  fds_.pop_front();
  return fd;
}

}  // namespace accel::shim
