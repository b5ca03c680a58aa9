// Translates between the coordinator's protobuf messages and the structs that the shim uses,
// because the shim links no protobuf (docs/decisions/0001).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/generation_state.h"
#include "proto/node.pb.h"
#include "shim/core/messages.h"

namespace accel::agent {

GenerationState ToProto(shim::GenerationReport::State state);
v1::ExitRecord ToProto(const shim::ExitFact& fact);

// Overwrites state, workers and failure of `observed`. An exit record or failure that is already
// set is kept, because those are written only once.
void ToProto(const shim::GenerationReport& report, v1::ObservedGeneration* observed);

// Returns the start that a desired generation needs, without its directories, which the agent adds.
// `base_env` is the environment that workers inherit, as NAME=VALUE. The desired variables override
// it. INVALID_ARGUMENT: the environments of all workers together exceed kMaxPayloadBytes; the
// message has both sizes.
absl::StatusOr<shim::StartCommand> ToStart(const v1::DesiredGeneration& desired,
                                           const std::vector<std::string>& base_env);

}  // namespace accel::agent
