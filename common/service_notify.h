// Tells the service manager that a daemon is ready (sd_notify(3), for units of Type=notify),
// without its library, because the protocol is one datagram.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel::common {

// Takes the address of the service manager's socket out of the environment, so that no process that
// this one starts can speak for it. Not thread-safe. Create it before the first thread.
class ServiceNotify {
 public:
  ServiceNotify();

  // Sends READY=1 and `status`, one line that `systemctl status` shows. Does nothing, and returns
  // false, without a service manager or if it cannot be reached.
  bool Ready(absl::string_view status) const;

 private:
  std::string address_;  // A path, or an abstract name after "@". Empty without a service manager.
};

}  // namespace accel::common
