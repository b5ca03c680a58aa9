// A menu on a terminal. Arrow keys and typed text move the selection, and Enter takes
// the selected option.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::cli {

// The state of a menu. Pure: it takes bytes and renders text.
class Menu {
 public:
  // `chosen` is the index of the option that is selected at first.
  Menu(std::vector<std::string> options, size_t chosen);

  enum class Step { kMore, kTaken, kCancelled };

  // Takes the next byte of the terminal. Up and Down move the selection, and so do j and k while no
  // text is typed. Other characters are typed text, and the first option that begins with this text
  // is selected. Backspace deletes typed text.
  Step TakeByte(char byte);

  size_t chosen() const { return chosen_; }
  const std::vector<std::string>& options() const { return options_; }

  // Returns one line per option, the selected one marked, with terminal line ends.
  std::string Render() const;

 private:
  void Move(int by);
  void Select();

  const std::vector<std::string> options_;
  size_t chosen_;
  std::string typed_;
  std::string escape_;  // Bytes of an unfinished escape sequence.
};

}  // namespace accel::cli
