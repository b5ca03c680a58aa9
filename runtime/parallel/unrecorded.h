// The state of code that works on the memory of sharded parameters.
#pragma once

#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/parameter_reads.h"

namespace accel::runtime {

// While it lives, what this thread does to parameters is no operator of the program: autograd
// records nothing, and reads are not reported.
struct Unrecorded {
  const at::NoGradGuard no_graph;
  const UnreportedScope unreported{kReadsKey};
};

}  // namespace accel::runtime
