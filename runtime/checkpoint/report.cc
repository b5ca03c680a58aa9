#include "runtime/checkpoint/report.h"

#include "common/worker_env.h"
#include "runtime/comm/launcher_socket.h"

namespace accel::runtime {

void report_checkpoint(const std::string& socket) {
  send_to_launcher(socket, common::kCheckpointMessage);
}

}  // namespace accel::runtime
