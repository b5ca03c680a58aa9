// How accel-shim is started.
#pragma once

namespace accel {

// The agent's socket is this descriptor of the shim.
constexpr int kShimControlFd = 3;
constexpr char kShimControlFlag[] = "--control_fd=3";

}  // namespace accel
