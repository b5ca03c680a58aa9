// The streaming calls of the gRPC service. Each call connects gRPC's events with those of the
// coordinator through a LatestBox or a LogPipe. It has at most one read and one write at a time,
// and no thread. The pointers must outlive the calls.
#pragma once

#include "coordinator/access/entrance.h"
#include "coordinator/calls/server_call.h"
#include "coordinator/coordinator.h"
#include "coordinator/refusal_log.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

void ServeWatch(ServerCall* call, Coordinator* coordinator, Admission admission,
                const v1::WatchJobRequest& request);

void ServeReadLogs(ServerCall* call, Coordinator* coordinator, Admission admission,
                   const v1::ReadLogsRequest& request);

void ServeAgent(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log);

void ServeRelay(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log);

}  // namespace accel::coordinator
