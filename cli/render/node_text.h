// Renders nodes for people. Pure. Text from outside is escaped.
#pragma once

#include <string>

#include "proto/service.pb.h"

namespace accel::cli {

// Renders one line per node, in the given order.
std::string RenderNodes(const v1::ListNodesResponse& nodes, bool color = false);

}  // namespace accel::cli
