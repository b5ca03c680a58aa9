// The gRPC service Blobs. Each call is admitted on the thread that got it. Then the threads of a
// WorkQueue serve it, because they may wait for the disk.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/blobs/blob_store.h"
#include "coordinator/blobs/get_slots.h"
#include "coordinator/blobs/work_queue.h"
#include "coordinator/calls/handler.h"
#include "coordinator/members/coordinator_slot.h"

namespace accel::coordinator {

// Thread-safe.
class BlobService {
 public:
  // The arguments must outlive the service.
  BlobService(BlobStore* store, const CoordinatorSlot* slot) : store_(*store), slot_(*slot) {}

  // Checks that a job of the user may name this tree, and calls `done` on one of the service's
  // threads. NOT_FOUND: the user has no such complete tree.
  void CheckUpload(const std::string& user, const std::string& tree,
                   std::function<void(absl::Status)> done);

  // Removes trees that no job names and blobs of no tree, if they were not used for a week. Blocks
  // on the disk.
  void Tidy(absl::Time now);

  // Adds the handlers of its methods, which use the service.
  void AddTo(Handlers* handlers);

 private:
  void Has(ServerCall* call);
  void Put(ServerCall* call);
  void Get(ServerCall* call);

  static constexpr int kThreads = 4;

  BlobStore& store_;
  const CoordinatorSlot& slot_;
  std::atomic<int> manifests_{0};  // Number of manifests in memory.
  GetSlots get_slots_;
  WorkQueue queue_{kThreads};  // The last member, because its work uses the others.
};

}  // namespace accel::coordinator
