// Lends the terminal to a worker that keeps standard input, as a shell does to its foreground job.
#pragma once

#include <sys/types.h>

namespace accel::shim {

// Not thread-safe. SIGTTOU must be ignored in this process.
class TerminalLoan {
 public:
  ~TerminalLoan() { GiveBack(); }

  // The terminal on standard input, if it is one whose foreground belongs to the process group of
  // this process's parent (accel launch); remembers that group. -1: there is nothing to lend.
  int Borrow();

  // Makes the parent's group the foreground group again.
  void GiveBack();

  bool lent() const { return owner_ > 0; }

 private:
  pid_t owner_ = 0;
};

}  // namespace accel::shim
