#include "common/secret_input.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::common {
namespace {

// Hides typed characters until it is destroyed. Does nothing if `fd` is not a terminal.
class HiddenTyping {
 public:
  explicit HiddenTyping(int fd) : fd_(fd), hides_(tcgetattr(fd, &before_) == 0) {
    if (!hides_) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    hidden.c_lflag |= ECHONL;
    tcsetattr(fd_, TCSAFLUSH, &hidden);
  }
  ~HiddenTyping() {
    if (hides_) tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  HiddenTyping(const HiddenTyping&) = delete;

 private:
  const int fd_;
  termios before_ = {};
  const bool hides_;
};

// Reads up to the end of the line or of the input.
absl::StatusOr<std::string> ReadLine(int fd, absl::string_view where) {
  std::string line;
  while (line.size() <= kMaxSecretInputBytes) {
    char byte = 0;
    const ssize_t got = read(fd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", where));
    // Empty lines before the secret are skipped.
    if (got == 0 || (byte == '\n' && !absl::StripAsciiWhitespace(line).empty())) break;
    line.push_back(byte);
  }
  line = std::string(absl::StripAsciiWhitespace(line));
  if (!line.empty() && line.size() <= kMaxSecretInputBytes) return line;
  return absl::InvalidArgumentError(absl::StrCat(
      where, line.empty() ? " is empty" : " is longer than 4 KiB", "; it must be one line"));
}

}  // namespace

absl::StatusOr<std::string> ReadSecretInput(const std::string& file, absl::string_view prompt) {
  if (!file.empty() && file != "-") {
    const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", file));
    return ReadLine(fd.get(), file);
  }
  if (!isatty(STDIN_FILENO)) return ReadLine(STDIN_FILENO, "standard input");
  const HiddenTyping hidden(STDIN_FILENO);
  // A failure to show the prompt is ignored.
  [[maybe_unused]] const ssize_t shown = write(STDERR_FILENO, prompt.data(), prompt.size());
  return ReadLine(STDIN_FILENO, "the line");
}

}  // namespace accel::common
