// Merges the output of several ranks into one stream of whole lines, each of which begins with its
// rank. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Not thread-safe.
class LineRelay {
 public:
  struct Options {
    bool prefix = true;  // False for a single process, whose bytes pass unchanged.
    // If true, the output is a terminal, so carriage returns are kept. Otherwise they are written
    // as line feeds.
    bool terminal = false;
    // Called once for each rank and stream. If it returns a text, the lines of that stream begin
    // with the text instead of "[rank R] ", even if `prefix` is false.
    std::function<std::optional<std::string>(int rank, int stream)> mark = nullptr;
  };

  explicit LineRelay(Options options) : options_(std::move(options)) {}

  // Returns the text to write after `bytes` have arrived from this rank and stream. `gap` is the
  // number of bytes before them that were dropped. An unfinished line is held back until its end,
  // up to 64 KiB. An empty line that ends in a carriage return is not shown.
  std::string Add(int rank, int stream, int64_t gap, absl::string_view bytes);

  // Returns the unfinished lines. Must be called at the end.
  std::string Flush();

 private:
  using Source = std::pair<int, int>;  // Rank, stream.

  // The unfinished line of one source.
  struct Line {
    void Clear() {
      text.clear();
      returned = false;
    }

    std::optional<std::string> prefix;  // If empty, bytes pass unchanged.
    std::string text;
    // A carriage return has arrived, and the line was written. If a line feed follows, it belongs
    // to the same line.
    bool returned = false;
  };

  Line& LineOf(Source source);
  void Emit(Source source, const Line& of, absl::string_view text, char end, std::string* out);
  // Handles a line feed after a line that was written at its carriage return.
  void Feed(Source source, const Line& line, std::string* out);

  const Options options_;
  std::map<Source, Line> lines_;
  // The last output ended in a carriage return, so the cursor is on a bar.
  bool on_bar_ = false;
  Source bar_of_;
};

}  // namespace accel::cli
