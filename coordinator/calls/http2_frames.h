// The frames of HTTP/2, for tests of what a gRPC client does not send or does not show.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace accel::coordinator {

// What a client sends first (RFC 9113, section 3.4).
inline constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : char {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9
};
constexpr char kEndStream = 1;
constexpr char kAck = 1;
constexpr char kEndHeaders = 4;

inline std::string Frame(FrameType type, char flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}

// Returns a connection to a server on this host.
inline common::UniqueFd ConnectTo(int port) {
  common::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<in_port_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return fd;
}

struct ReceivedFrame {
  unsigned char type;
  unsigned char flags;
  bool on_stream;  // Not of the whole connection.
  std::string payload;
};

// Reads exactly `size` bytes. Returns false at the end, or after the socket's time limit.
inline bool ReadExactly(int socket, size_t size, std::string* bytes) {
  bytes->resize(size);
  return size == 0 || recv(socket, bytes->data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

// read(size, bytes) reads exactly `size` bytes, or returns false.
template <typename Read>
std::optional<ReceivedFrame> ReadFrame(Read read) {
  std::string header;
  if (!read(9, &header)) return std::nullopt;
  const auto at = [&header](size_t i) { return static_cast<unsigned char>(header[i]); };
  ReceivedFrame frame{at(3), at(4), (at(5) | at(6) | at(7) | at(8)) != 0, ""};
  const size_t size = size_t{at(0)} << 16 | size_t{at(1)} << 8 | at(2);
  if (!read(size, &frame.payload)) return std::nullopt;
  return frame;
}

inline std::optional<ReceivedFrame> ReadFrameFrom(int socket) {
  return ReadFrame(
      [socket](size_t size, std::string* bytes) { return ReadExactly(socket, size, bytes); });
}

// Returns an integer with a prefix of 7 bits (RFC 7541, section 5.1).
inline std::string HpackLength(uint64_t length) {
  if (length < 127) return std::string(1, static_cast<char>(length));
  std::string bytes(1, '\x7f');
  for (length -= 127; length >= 128; length >>= 7) bytes += static_cast<char>(length | 128);
  return bytes + static_cast<char>(length);
}

// Returns the bytes of a header that is not in HPACK's tables.
inline std::string Literal(const std::string& name, const std::string& value) {
  std::string text(1, '\0');
  for (const std::string& part : {name, value})
    absl::StrAppend(&text, HpackLength(part.size()), part);
  return text;
}

// Returns the headers of a call. `path` is "/SERVICE/METHOD".
inline std::string RequestHeaders(const std::string& scheme, const std::string& path) {
  return absl::StrCat("\x83", scheme == "https" ? "\x87" : "\x86",  // :method POST, :scheme
                      Literal(":path", path), Literal(":authority", "coordinator"),
                      Literal("te", "trailers"), Literal("content-type", "application/grpc"));
}

}  // namespace accel::coordinator
