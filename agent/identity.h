// The fields of an agent's reports that are constant while the agent lives.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the constant fields of NodeObserved, with a new incarnation and the addresses that the
// node has now. NOT_FOUND: no interface of this node has `address`.
absl::StatusOr<v1::NodeObserved> MakeIdentity(const common::NodeId& node_id,
                                              const std::string& name, const std::string& address,
                                              v1::Inventory inventory);

// Returns the name of this node. If `certificate`, a text in PEM, is not empty and has a name, this
// is the node's name. Otherwise it is `wish`, the flag --name, or the host's name if `wish` is
// empty. INVALID_ARGUMENT: the flag and the certificate differ, or the certificate is damaged.
absl::StatusOr<std::string> NodeName(const std::string& wish, const std::string& certificate);

}  // namespace accel::agent
