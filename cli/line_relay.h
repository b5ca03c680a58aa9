// Joins the output of several ranks into one stream of whole lines, each with the rank it came
// from. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Not thread-safe.
class LineRelay {
 public:
  struct Options {
    bool prefix = true;  // False: a single process, whose bytes pass as they are.
    // A carriage return ends a line here; off a terminal it becomes a line feed.
    bool terminal = false;
  };

  explicit LineRelay(Options options) : options_(options) {}

  // What to write after `bytes` of this source have come in; `gap` of its bytes before them were
  // dropped. Half lines wait for their end, but never more than 64 KiB of them. An empty line that
  // a carriage return ends shows nothing.
  std::string Add(int rank, int stream, int64_t gap, absl::string_view bytes);

  // The half lines that are left, at the end.
  std::string Flush();

 private:
  using Source = std::pair<int, int>;  // Rank, stream.

  // What a source has begun to say.
  struct Line {
    std::string text;
    // A carriage return has come, and the line was shown. If a line feed is next, both are its end.
    bool returned = false;
  };

  void Emit(Source source, absl::string_view line, char end, std::string* out);
  // The line feed after a line that was shown at its carriage return.
  void Feed(Source source, absl::string_view line, std::string* out);

  const Options options_;
  std::map<Source, Line> lines_;
  bool on_bar_ = false;  // The last thing written ended in a carriage return.
  Source bar_of_;
};

}  // namespace accel::cli
