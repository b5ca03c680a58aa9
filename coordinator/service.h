// The gRPC service Coordinator. Each method admits the caller, checks the size and form of the
// request, and passes both to the coordinator, whose loop does the work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/access/entrance.h"
#include "coordinator/calls/handler.h"
#include "coordinator/coordinator.h"
#include "coordinator/list_call.h"
#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// Thread-safe.
class CoordinatorService {
 public:
  // The type of ServerOptions::check_upload.
  using CheckUpload = std::function<void(const std::string& user, const std::string& tree,
                                         std::function<void(absl::Status)> done)>;

  // The pointers must outlive the service.
  CoordinatorService(Coordinator* coordinator, Entrance* entrance, RefusalLog* log,
                     CheckUpload check_upload)
      : coordinator_(*coordinator),
        entrance_(*entrance),
        log_(*log),
        check_upload_(std::move(check_upload)) {}

  // Adds the handlers of its methods, which use the service.
  void AddTo(Handlers* handlers);

 private:
  void SubmitJob(ServerCall* call);
  void ListJobs(ServerCall* call);
  void WatchJob(ServerCall* call);
  void CancelJob(ServerCall* call);
  void ListNodes(ServerCall* call);
  void ReadLogs(ServerCall* call);
  void Agent(ServerCall* call);
  void RelayLogs(ServerCall* call);

  // Calls `done` with OK if the caller may submit a job that names this tree, or with the error for
  // the caller. It may do so on another thread.
  void CheckTree(const Caller& caller, const std::string& tree,
                 std::function<void(absl::Status)> done) const;

  Coordinator& coordinator_;
  Entrance& entrance_;
  RefusalLog& log_;
  const CheckUpload check_upload_;
  const std::shared_ptr<AnswerRoom> answer_room_ = std::make_shared<AnswerRoom>();
};

}  // namespace accel::coordinator
