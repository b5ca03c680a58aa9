// A menu on a terminal: arrow keys move, typing selects, Enter takes.
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

  // Takes the next byte of the terminal. Up, Down, j and k move; digits and letters type, and the
  // selection follows the first option that begins with the typed text; Backspace deletes.
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
