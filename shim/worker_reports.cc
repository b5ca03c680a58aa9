#include "shim/worker_reports.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/worker_env.h"

namespace accel::shim {
namespace {

// Maximum number of messages that are read in a turn, because a worker that sends all the time must
// not stop other work.
constexpr int kMessagesPerTurn = 64;

// The size of the socket's buffer in bytes. The kernel doubles the number, and each message takes
// at least 256 bytes of the buffer.
constexpr int kBufferBytes = 104 << 10;
constexpr int kMessagesAtMost = 2 * kBufferBytes / 256;

// Returns the rank in a message of one kind, which begins with `kind`. Returns nullopt for others.
std::optional<int> RankIn(std::string_view text, std::string_view kind) {
  if (text.substr(0, kind.size()) != kind) return std::nullopt;
  int rank = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + kind.size(), last, rank);
  return error == std::errc() && end == last ? std::optional(rank) : std::nullopt;
}

}  // namespace

WorkerReports::WorkerReports(EventLoop* loop, Listener listener)
    : loop_(loop), listener_(std::move(listener)) {
  int ends[2];
  // SOCK_SEQPACKET keeps the borders of messages. A sender that finds no room drops its message.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  end_ = common::UniqueFd(ends[0]);
  worker_end_ = common::UniqueFd(ends[1]);
  setsockopt(worker_end_.get(), SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof(kBufferBytes));
  struct stat info {};
  fstat(worker_end_.get(), &info);
  address_ = absl::StrCat(kReportTarget, ":", info.st_ino);
  loop_->Watch(end_.get(), EPOLLIN, [this] { Read(kMessagesPerTurn); });
}

WorkerReports::~WorkerReports() {
  if (end_.valid()) loop_->Unwatch(end_.get());
}

void WorkerReports::ReadRest() { Read(kMessagesAtMost); }

void WorkerReports::Read(int most) {
  char message[64];
  for (int i = 0; i < most; ++i) {
    const ssize_t size = recv(end_.get(), message, sizeof(message), MSG_DONTWAIT);
    if (size < 0) return;
    // Other messages come from later versions of the runtime and are ignored.
    const std::string_view text(message, static_cast<size_t>(size));
    if (text == common::kCheckpointMessage) ++checkpoints_;
    if (const auto rank = RankIn(text, common::kBeatMessage)) listener_.beat(*rank);
    if (const auto rank = RankIn(text, common::kWaitMessage)) listener_.wait(*rank);
    if (const auto rank = RankIn(text, common::kPauseMessage)) listener_.pause(*rank);
  }
}

}  // namespace accel::shim
