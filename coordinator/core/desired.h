// The desired state of a node, in parts. All nodes of a generation share the larger part of its
// start: the program, its arguments and most of its environment. That part is encoded once for all
// of them, because a job over thousands of nodes would spend most of its start in encoding it
// again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/node.pb.h"

namespace accel::coordinator {

// One generation of a desired state. Its fields are those of `own` and those of `shared`.
struct DesiredPart {
  v1::DesiredGeneration own;
  // An encoded v1::DesiredGeneration. Null if all fields are in `own`.
  std::shared_ptr<const std::string> shared;
};

struct Desired {
  v1::NodeDesired node;  // Without `generations`.
  std::vector<DesiredPart> generations;
};

// Returns the whole message.
v1::NodeDesired Whole(const Desired& desired);

// Returns the bytes of the whole message. A message can be encoded in parts because a parser
// merges the fields that it finds twice: lists are concatenated
// (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
std::string Encode(const Desired& desired);

}  // namespace accel::coordinator
