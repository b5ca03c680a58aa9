#pragma once

#include <memory>

#include "accel/options.h"

namespace c10d {
class CommHookInterface;
}

namespace accel {

class Communicator;

// For c10d::Reducer::register_comm_hook(). Null for kNone.
std::unique_ptr<c10d::CommHookInterface> make_comm_hook(CommHook hook,
                                                        const Communicator& communicator);

}  // namespace accel
