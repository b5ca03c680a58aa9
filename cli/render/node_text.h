// Nodes as people read them. Pure; what others wrote is escaped.
#pragma once

#include <string>

#include "proto/service.pb.h"

namespace accel::cli {

// One line per node, in the order given.
std::string RenderNodes(const v1::ListNodesResponse& nodes);

}  // namespace accel::cli
