// gRPC's completion queue, without the check that makes each of its events cost more the more calls
// there are.
//
// Debian builds gRPC with its checks. One of them keeps a list of all operations that are pending
// in a queue, and searches it for each operation that is done (cq_check_tag). An agent's stream
// always has two pending, so with 9,000 agents each event compared thousands of pointers, and this
// was a quarter of what a start costs the coordinator (docs/decisions/0093). NDEBUG leaves the
// check out. It also changes the layout of types in gRPC's headers, so the headers must be read
// without it, as in the rest of the system's gRPC.

#include "src/core/lib/surface/completion_queue.h"

#include <grpc/grpc.h>
#include <grpc/impl/codegen/gpr_types.h>
#include <grpc/support/alloc.h>
#include <grpc/support/atm.h>
#include <grpc/support/log.h>
#include <grpc/support/port_platform.h>
#include <grpc/support/sync.h>

#include "src/core/lib/debug/stats.h"
#include "src/core/lib/debug/stats_data.h"
#include "src/core/lib/gpr/spinlock.h"
#include "src/core/lib/gprpp/atomic_utils.h"
#include "src/core/lib/gprpp/debug_location.h"
#include "src/core/lib/gprpp/ref_counted.h"
#include "src/core/lib/gprpp/status_helper.h"
#include "src/core/lib/gprpp/time.h"
#include "src/core/lib/iomgr/closure.h"
#include "src/core/lib/iomgr/exec_ctx.h"
#include "src/core/lib/iomgr/executor.h"
#include "src/core/lib/iomgr/iomgr.h"
#include "src/core/lib/iomgr/pollset.h"
#include "src/core/lib/surface/api_trace.h"
#include "src/core/lib/surface/event_string.h"
#include "third_party/grpc/same_types.h"

#define NDEBUG
#include "completion_queue.inc"

// What the rest of gRPC calls. Without its checks, the queue has these functions without
// the place of the caller.
void grpc_cq_internal_ref(grpc_completion_queue* cq, const char*, const char*, int) {
  grpc_cq_internal_ref(cq);
}
void grpc_cq_internal_unref(grpc_completion_queue* cq, const char*, const char*, int) {
  grpc_cq_internal_unref(cq);
}
