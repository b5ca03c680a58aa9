// Compresses gradients while they are reduced. GradientReducer uses it.
#pragma once

#include <memory>

#include "accel/options.h"

namespace c10d {
class CommHookInterface;
}

namespace accel::runtime {

class Communicator;

// Returns a hook for c10d::Reducer::register_comm_hook() that sends gradients in the dtype of
// `hook`. Returns null for kNone.
std::unique_ptr<c10d::CommHookInterface> make_comm_hook(CommHook hook,
                                                        const Communicator& communicator);

}  // namespace accel::runtime
