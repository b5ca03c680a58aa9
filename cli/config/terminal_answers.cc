#include "cli/config/terminal_answers.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/menu.h"

namespace accel::cli {
namespace {

// Passes each key on at once and prints none, until it is destroyed.
class RawMode {
 public:
  RawMode() {
    is_set_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    if (is_set_) tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawMode() {
    if (is_set_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  bool is_set_ = false;
  termios before_ = {};
};

// Returns the next byte, or nullopt at the end of the input.
std::optional<char> ReadByte() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(STDIN_FILENO, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 ? std::optional<char>(byte) : std::nullopt;
}

absl::StatusOr<std::string> AskMenu(const Question& question) {
  const std::vector<std::string> options = OptionsOf(question);
  const auto fallback = std::find_if(options.begin(), options.end(), [&](const std::string& one) {
    return absl::EqualsIgnoreCase(one, question.fallback);
  });
  Menu menu(options, fallback == options.end() ? 0 : fallback - options.begin());
  std::cout << question.text << "\n(arrow keys or typing, then Enter)\n";
  const RawMode raw;
  while (true) {
    std::cout << menu.Render() << std::flush;
    const std::optional<char> byte = ReadByte();
    if (!byte.has_value()) return absl::OutOfRangeError("the terminal is gone");
    const Menu::Step step = menu.TakeByte(*byte);
    if (step == Menu::Step::kCancelled) return absl::CancelledError("nothing was written");
    if (step == Menu::Step::kTaken) return options[menu.chosen()];
    std::cout << "\x1b[" << options.size() << "A";  // Back to the first option.
  }
}

}  // namespace

absl::StatusOr<std::string> TerminalAnswers::Ask(const Question& question) {
  if (!question.options.empty()) return AskMenu(question);
  return LineAnswers(std::cin, std::cout).Ask(question);
}

}  // namespace accel::cli
