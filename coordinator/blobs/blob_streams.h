// The streaming calls of service Blobs. Each call has one operation at a time, of gRPC or of the
// queue. The pointers must outlive the calls.
#pragma once

#include <memory>

#include "coordinator/access/entrance.h"
#include "coordinator/blobs/blob_store.h"
#include "coordinator/blobs/get_slots.h"
#include "coordinator/blobs/work_queue.h"
#include "coordinator/calls/server_call.h"
#include "coordinator/coordinator.h"
#include "proto/blobs.pb.h"

namespace accel::coordinator {

// Receives blobs of a user.
void ServePut(ServerCall* call, BlobStore* store, WorkQueue* queue, Admission admission);

// Sends the blobs that the caller may read. The call owns `slot` until it ends.
void ServeGet(ServerCall* call, BlobStore* store, WorkQueue* queue, Coordinator* coordinator,
              Admission admission, v1::GetBlobsRequest request,
              std::unique_ptr<GetSlots::Slot> slot);

}  // namespace accel::coordinator
