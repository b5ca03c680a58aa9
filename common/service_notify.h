// Tells the service manager that a daemon is ready (sd_notify(3), for units of Type=notify). It
// does not use the manager's library, because the protocol is a single datagram.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel::common {

// Takes the address of the service manager's socket out of the environment, because a child of this
// process must not send notifications in its name. Not thread-safe. Must be created before the
// first thread is started.
class ServiceNotify {
 public:
  ServiceNotify();

  // Sends READY=1 and `status`, one line that `systemctl status` shows. Returns false if there is
  // no service manager or if it cannot be reached.
  bool Ready(absl::string_view status) const;

 private:
  std::string address_;  // A path, or an abstract name after "@". Empty without a service manager.
};

}  // namespace accel::common
