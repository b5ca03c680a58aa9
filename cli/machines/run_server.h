// The gRPC server of the machine that serves a launch over several machines. It has two services:
// Run, by which the other machines take part, and of the coordinator's service the one method that
// an agent needs. Any other call is UNIMPLEMENTED, because a certificate of the launch is the
// certificate of an agent of this run and of nothing else.
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

  // Ends all streams, after the newest news have been sent, at most a second later.
  virtual ~RunServer() = default;
};

}  // namespace accel::cli
