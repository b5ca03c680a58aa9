#include "runtime/comm/call_watch.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <system_error>
#include <utility>

namespace accel::runtime {
namespace {

std::string key_of(std::uint64_t number) { return "call_" + std::to_string(number); }

}  // namespace

std::map<int, std::string> parse_board(std::string_view lines) {
  std::map<int, std::string> out;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    int rank = -1;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank);
    const auto digits = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || digits >= line.size() || line[digits] != ' ') continue;
    out.insert_or_assign(rank, std::string(line.substr(digits + 1)));
  }
  return out;
}

std::string describe_missing_ranks(int size, const std::string& call,
                                   const std::map<int, std::string>& board) {
  std::string text;
  for (int rank = 0; rank < size; ++rank) {
    const auto found = board.find(rank);
    if (found != board.end() && found->second == call) continue;
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(rank);
    text += found == board.end() ? " has not called it" : " called " + found->second + " instead";
  }
  return text;
}

CallWatch::CallWatch(int rank, int size, std::unique_ptr<KeyValueBoard> board, Pace pace)
    : rank_(rank), size_(size), pace_(pace), board_(std::move(board)), thread_([this] {
        watch();
      }) {}

CallWatch::~CallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CallWatch::begin(const std::string& call) {
  const std::lock_guard lock(mutex_);
  ++current_.number;
  current_.text = call;
  is_open_ = true;
  begun_ = std::chrono::steady_clock::now();
}

void CallWatch::end() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
}

void CallWatch::cancel() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  announced_ = 0;  // The next call has the same number, and must be announced as well.
  --current_.number;
}

NumberedCall CallWatch::current() {
  const std::lock_guard lock(mutex_);
  return current_;
}

// Polls instead of being woken by each call, because waking a thread costs the call a system call.
void CallWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pace_.announce_after, [this] { return stopped_; })) {
    const bool is_long = std::chrono::steady_clock::now() - begun_ >= pace_.announce_after;
    if (!is_open_ || !is_long || announced_ == current_.number) continue;
    announced_ = current_.number;
    const NumberedCall call = current_;
    lock.unlock();
    announce(call);
    lock.lock();
  }
}

void CallWatch::announce(const NumberedCall& call) {
  const std::lock_guard lock(board_mutex_);
  try {
    board_->append(key_of(call.number), std::to_string(rank_) + " " + call.text + "\n");
  } catch (const std::exception&) {
    // Ignored, because an error that names fewer ranks is better than an error of the board.
  }
}

std::string CallWatch::explain(const NumberedCall& call, const std::function<int()>& count_lost) {
  announce(call);  // If watch() has announced it already, the second line changes nothing.
  const auto deadline = std::chrono::steady_clock::now() + pace_.grace;
  while (true) {
    std::map<int, std::string> board;
    try {
      const std::lock_guard board_lock(board_mutex_);
      board = parse_board(board_->read(key_of(call.number)));
    } catch (const std::exception&) {
      return "";
    }
    if (board.size() >= static_cast<std::size_t>(size_ - count_lost()) ||
        std::chrono::steady_clock::now() >= deadline) {
      return describe_missing_ranks(size_, call.text, board);
    }
    std::this_thread::sleep_for(pace_.grace / 25);
  }
}

void CallWatch::note_failure(const std::string& text) {
  NumberedCall next{.number = current().number + 1, .text = text.substr(0, 500)};
  for (char& c : next.text) {
    if (c == '\n') c = ' ';
  }
  announce(next);
}

}  // namespace accel::runtime
