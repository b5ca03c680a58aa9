// Prints chunks of workers' output as they arrive, to standard output or standard error according
// to their stream.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cli/console.h"
#include "cli/json_lines.h"
#include "cli/line_fold.h"
#include "cli/line_relay.h"
#include "cli/render/terminal_text.h"
#include "proto/service.pb.h"

namespace accel::cli {

// One thread makes all calls. With `fold` and `follow`, another thread prints lines that have been
// held back for long enough.
class LogPrinter {
 public:
  struct Options {
    bool prefix = false;  // Lines begin with their rank.
    bool fold = false;    // Equal lines of several ranks are printed once.
    bool follow = false;
    bool paged = false;  // A pager shows the output on a terminal.
    // If true, both streams are printed as JSON on standard output, and the options above
    // have no effect.
    bool json = false;
  };

  LogPrinter(Options options, const Console& console);
  ~LogPrinter();

  void Print(const v1::LogChunk& chunk);
  // Prints all output that was held back. Must be called at the end.
  void Finish();

  // Returns true if a part of the output was not available.
  bool failed() const { return failed_; }

 private:
  // One of the two standard streams.
  struct Output {
    Output(std::ostream& to, bool is_terminal, bool prefix)
        : stream(to), terminal(is_terminal), relay({.prefix = prefix, .terminal = is_terminal}) {}
    std::ostream& stream;
    const bool terminal;
    LineRelay relay;
    LineFold fold;
    std::map<int, TerminalText> safe;  // By rank. Empty if this is not a terminal.
  };

  void PrintDue();

  const Options options_;
  const Console& console_;
  bool failed_ = false;
  absl::Mutex mutex_;
  Output out_ ABSL_GUARDED_BY(mutex_);
  Output err_ ABSL_GUARDED_BY(mutex_);
  JsonLines json_out_ ABSL_GUARDED_BY(mutex_){"stdout"};
  JsonLines json_err_ ABSL_GUARDED_BY(mutex_){"stderr"};
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace accel::cli
