// A pager between this process and its terminal, as in git.
#pragma once

#include <sys/types.h>

#include <memory>

#include "common/unique_fd.h"

namespace accel::cli {

// While an object of this class exists, standard output, and standard error if that is a terminal,
// go to the pager. At most one object exists. Not thread-safe.
class Pager {
 public:
  // Starts ACCEL_PAGER, else PAGER, else less, in a shell. Output that fits on the screen is
  // printed without waiting for a key (LESS=FRX, unless LESS is set). Returns null if standard
  // output is not a terminal, if the pager is "cat" or empty, or if no process can be started.
  static std::unique_ptr<Pager> StartOnATerminal();

  // Returns true if an object of this class exists.
  static bool IsRunning();

  // Connects the standard streams to the terminal again, and waits until the pager has ended.
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  Pager(pid_t pid, common::UniqueFd out, common::UniqueFd err);

  const pid_t pid_;
  const common::UniqueFd out_;  // The terminal.
  const common::UniqueFd err_;  // The terminal, or invalid if standard error is not changed.
};

}  // namespace accel::cli
