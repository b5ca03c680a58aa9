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

// Returns true if the generation ends when its agent is gone. A policy that only a later version of
// accel knows must not end a job, so it counts as KEEP.
bool EndsWithAgent(const v1::DesiredGeneration& desired);

GenerationState ToProto(shim::GenerationReport::State state);
v1::ExitRecord ToProto(const shim::ExitFact& fact);

// Overwrites the state, workers and counters of `observed`, and its failure if none is set. Exit
// records and failures that are already set are kept, because each is final.
void ToProto(const shim::GenerationReport& report, v1::ObservedGeneration* observed);

// Returns the start command for a desired generation, without `log_dir`, which the agent adds.
// `base_env` is the environment that workers inherit, as NAME=VALUE. The desired variables override
// it. INVALID_ARGUMENT: the environments of all workers together exceed kMaxPayloadBytes; the
// message has both sizes.
absl::StatusOr<shim::StartCommand> ToStart(const v1::DesiredGeneration& desired,
                                           const std::vector<std::string>& base_env);

}  // namespace accel::agent
