// Joins the output of several ranks into one stream of whole lines, each with the rank it came
// from. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace accel {

// Not thread-safe.
class LineRelay {
 public:
  struct Options {
    bool prefix = true;  // False: a single process, whose bytes pass as they are.
    bool terminal =
        false;  // A carriage return ends a line here; off a terminal it becomes a line feed.
  };

  explicit LineRelay(Options options) : options_(options) {}

  // What to write after `bytes` of this source have come in; `gap` of its bytes before them were
  // dropped. Half lines wait for their end, but never more than 64 KiB of them.
  std::string Add(int rank, int stream, int64_t gap, absl::string_view bytes);

  // The half lines that are left, at the end.
  std::string Flush();

 private:
  using Source = std::pair<int, int>;  // Rank, stream.

  void Emit(Source source, absl::string_view line, char end, std::string* out);

  const Options options_;
  std::map<Source, std::string> half_;
  bool on_bar_ = false;  // The last thing written ended in a carriage return.
  Source bar_of_;
};

}  // namespace accel
