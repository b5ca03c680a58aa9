#include "cli/config/menu.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kCtrlC = '\x03';
constexpr char kCtrlD = '\x04';
constexpr char kBackspace = '\x7f';
constexpr size_t kLongestTyped = 64;

}  // namespace

Menu::Menu(std::vector<std::string> options, size_t chosen)
    : options_(std::move(options)), chosen_(chosen) {}

Menu::Step Menu::TakeByte(char byte) {
  if (!escape_.empty() || byte == kEscape) {
    escape_ += byte;
    if (escape_.size() < 3) return Step::kMore;
    // An arrow is ESC [ A or ESC O A, by the mode of the terminal.
    const char key = std::exchange(escape_, "")[2];
    if (key == 'A') Move(-1);
    if (key == 'B') Move(1);
    return Step::kMore;
  }
  if (byte == '\r' || byte == '\n') return Step::kTaken;
  if (byte == kCtrlC || byte == kCtrlD) return Step::kCancelled;
  if (typed_.empty() && byte == 'k') {
    Move(-1);
  } else if (typed_.empty() && byte == 'j') {
    Move(1);
  } else if (byte == kBackspace || byte == '\b') {
    if (!typed_.empty()) typed_.pop_back();
    Select();
  } else if (absl::ascii_isprint(static_cast<unsigned char>(byte)) &&
             typed_.size() < kLongestTyped) {
    typed_ += byte;
    Select();
  }
  return Step::kMore;
}

void Menu::Move(int by) {
  typed_.clear();
  const int last = static_cast<int>(options_.size()) - 1;
  const int next = static_cast<int>(chosen_) + by;
  chosen_ = next < 0 ? last : next > last ? 0 : static_cast<size_t>(next);
}

void Menu::Select() {
  if (typed_.empty()) return;
  for (size_t i = 0; i < options_.size(); ++i) {
    if (absl::StartsWithIgnoreCase(options_[i], typed_)) {
      chosen_ = i;
      return;
    }
  }
  size_t number = 0;
  if (absl::SimpleAtoi(typed_, &number) && number < options_.size()) chosen_ = number;
}

std::string Menu::Render() const {
  std::string text;
  for (size_t i = 0; i < options_.size(); ++i) {
    absl::StrAppend(&text, i == chosen_ ? "\x1b[1m> " : "  ", options_[i],
                    i == chosen_ ? "\x1b[0m" : "", "\x1b[K\r\n");
  }
  return text;
}

}  // namespace accel::cli
