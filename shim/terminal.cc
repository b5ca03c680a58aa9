#include "shim/terminal.h"

#include <unistd.h>

namespace accel::shim {

int TerminalLoan::Borrow() {
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  if (foreground <= 0 || foreground != getpgid(getppid())) return -1;
  owner_ = foreground;
  return STDIN_FILENO;
}

void TerminalLoan::GiveBack() {
  if (lent()) tcsetpgrp(STDIN_FILENO, owner_);
  owner_ = 0;
}

}  // namespace accel::shim
