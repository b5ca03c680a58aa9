// The identity of this agent, constant as long as it lives.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the constant fields of NodeObserved, with a new incarnation. The node's addresses are
// those that it has now. NOT_FOUND: no interface of this node has `address`.
absl::StatusOr<v1::NodeObserved> MakeIdentity(const common::NodeId& node_id,
                                              const std::string& name, const std::string& address,
                                              v1::Inventory inventory);

// Returns the name of this node: that of its certificate, a text in PEM, if it has one and that has
// a name. Otherwise `wish`, the flag --name, or the name of the host if that is empty.
// INVALID_ARGUMENT: the flag and the certificate differ, or the certificate is damaged.
absl::StatusOr<std::string> NodeName(const std::string& wish, const std::string& certificate);

}  // namespace accel::agent
