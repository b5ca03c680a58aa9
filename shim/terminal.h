// Lends the terminal to a worker that keeps standard input, as a shell lends it to
// the foreground job.
#pragma once

#include <sys/types.h>

namespace accel::shim {

// Not thread-safe. SIGTTOU must be ignored in this process.
class TerminalLoan {
 public:
  ~TerminalLoan() { GiveBack(); }

  // Returns the terminal on standard input if its foreground belongs to the process group
  // of this process's parent (accel launch), and remembers that group. Returns -1 if there
  // is no such terminal.
  int Borrow();

  // Makes the parent's group the foreground group again. Has no effect unless the terminal is lent.
  void GiveBack();

  bool lent() const { return owner_ > 0; }

 private:
  pid_t owner_ = 0;
};

}  // namespace accel::shim
