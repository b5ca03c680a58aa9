// The desired state of a node, in parts. All nodes of a generation share the larger part of its
// start: the program, its arguments and most of its environment. That part is encoded once for all
// of them, because a job over thousands of nodes would spend most of its start in encoding it
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "proto/node.pb.h"

namespace accel::coordinator {

// What all nodes of a generation share, as a message and encoded.
struct SharedStart {
  explicit SharedStart(v1::DesiredGeneration start)
      : message(std::move(start)), bytes(message.SerializeAsString()) {}

  const v1::DesiredGeneration message;
  const std::string bytes;
};

// One generation of a desired state. Its fields are those of `shared` and those of `own`. The lists
// of `own` follow those of `shared`, so a variable of `own` wins over one of the same name.
struct DesiredPart {
  v1::DesiredGeneration own;
  std::shared_ptr<const SharedStart> shared;  // Null if all fields are in `own`.
};

struct Desired {
  v1::NodeDesired node;  // Without `generations`.
  std::vector<DesiredPart> generations;
};

// Returns the whole message. Makes it without a parser, because a parser refuses texts that are not
// UTF-8. `accel launch` allows any bytes in arguments and paths, as the kernel does.
v1::NodeDesired Whole(const Desired& desired);

// Calls `allocate` once with the size of the whole message, and writes the message to the memory
// that it returns. A message can be encoded in parts because a parser merges the fields that it
// finds twice: lists are concatenated
// (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
void Encode(const Desired& desired, absl::FunctionRef<uint8_t*(size_t size)> allocate);

}  // namespace accel::coordinator
