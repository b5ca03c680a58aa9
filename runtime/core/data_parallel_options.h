#pragma once

namespace accel {

// In what gradients travel between the processes; they are fp32 again when they have arrived.
enum class CommHook {
  kNone,
  kFp16,  // Half of the bytes; gradients beyond 65504 overflow.
  kBf16,  // Half of the bytes; 8 bits of precision.
};

// How gradients are reduced over the processes; as Python's DistributedDataParallel.
struct DataParallelOptions {
  // True: parameters that take no part in a loss are allowed, at the price of one walk over the
  // graph and one small all-reduce for each backward pass. A loss may also depend on no prepared
  // model at all, on some ranks, if the model was called. False: they are an error.
  bool find_unused_parameters = false;
  // Every backward pass uses the same parameters as often as the first one, which may be several
  // times or not at all: this costs nothing, but the first pass, which reduces when it is over,
  // also under accumulate() and no_sync().
  bool static_graph = false;
  int bucket_cap_mb = 25;  // MiB that are reduced at once; at least 1.
  // Gradients are the memory that is reduced. False: copies of it.
  bool gradient_as_bucket_view = true;
  // The buffers of a model in training mode follow rank 0's after each backward pass.
  bool broadcast_buffers = true;
  CommHook comm_hook = CommHook::kNone;
};

}  // namespace accel
