// The streaming calls of service Blobs. Each call has one operation at a time, of gRPC or of the
// queue, and deletes itself when gRPC is done with it. The pointers must outlive the calls.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "coordinator/access/entrance.h"
#include "coordinator/blobs/blob_store.h"
#include "coordinator/blobs/get_slots.h"
#include "coordinator/blobs/work_queue.h"
#include "coordinator/coordinator.h"
#include "proto/blobs.pb.h"

namespace accel::coordinator {

// Returns a call that receives blobs of a user.
grpc::ServerReadReactor<grpc::ByteBuffer>* NewPutStream(BlobStore* store, WorkQueue* queue,
                                                        Admission admission);

// Returns a call that sends the blobs that the caller may read. The call owns `slot` until it ends.
grpc::ServerWriteReactor<grpc::ByteBuffer>* NewGetStream(BlobStore* store, WorkQueue* queue,
                                                         Coordinator* coordinator,
                                                         Admission admission,
                                                         v1::GetBlobsRequest request,
                                                         std::unique_ptr<GetSlots::Slot> slot);

}  // namespace accel::coordinator
