// The gRPC server of the machine that serves a launch over several machines. It has the service
// Run, through which the other machines take part, and the one method of the coordinator's service
// that an agent needs. Any other call is UNIMPLEMENTED, because a certificate of the launch gives
// only the rights of an agent of this run.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cli/machines/run_hub.h"
#include "coordinator/coordinator.h"
#include "coordinator/listener.h"
#include "security/server_tls.h"

namespace accel::cli {

class RunServer {
 public:
  // Serves on `listener` to clients with a certificate of the authority in `tls`. `hub` and
  // `coordinator` must outlive the server. INTERNAL: gRPC or OpenSSL failed.
  static absl::StatusOr<std::unique_ptr<RunServer>> Start(coordinator::Listener listener,
                                                          security::ServerTls tls, RunHub* hub,
                                                          coordinator::Coordinator* coordinator);

  // Waits for at most a second until the newest news have been sent, and then ends all streams.
  virtual ~RunServer() = default;
};

}  // namespace accel::cli
