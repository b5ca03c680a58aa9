// The keys by which LibTorch finds the code of operators that are not intercepted.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

namespace accel::runtime {

// Returns the keys of a thread on which operators are executed as a recorder sees them: below
// autograd, autocast and every interception. For c10::impl::ForceDispatchKeyGuard. Thread-safe.
const c10::impl::LocalDispatchKeySet& plain_dispatch();

}  // namespace accel::runtime
