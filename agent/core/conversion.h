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

// Overwrites state, workers and failure of `observed`; first exit records stay as they are (written
// once).
void ToProto(const shim::GenerationReport& report, v1::ObservedGeneration* observed);

// What a desired generation asks of the shim. `base_env` is the agent's own environment as
// NAME=VALUE; the desired variables are laid over it. Directories are the agent's to add.
// INVALID_ARGUMENT: the environments of all workers are more than one start carries
// (kMostPayloadBytes), with both sizes.
absl::StatusOr<shim::GenerationStart> ToStart(const v1::DesiredGeneration& desired,
                                              const std::vector<std::string>& base_env);

}  // namespace accel::agent
