// Safetensors files of whole tensors, of which only one is in memory at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/checkpoint/byte_relay.h"
#include "runtime/checkpoint/sharded_state.h"

namespace accel::runtime {

// The layout of such a file, which is the same on all ranks, because it needs shapes and dtypes
// alone. The bytes are those that TensorFile has for the whole tensors.
struct WholeFile {
  // Throws std::invalid_argument for a dtype that the format lacks.
  explicit WholeFile(const std::vector<SavedWhole>& tensors);

  std::string header;
  std::uint64_t size = 0;           // Bytes, with the header.
  std::vector<SavedWhole> tensors;  // In the order of their bytes.
};

// Makes the tensors whole one after the other, and gives them to the relay, which is null on all
// ranks except the one that writes them. If that one cannot copy a tensor to the CPU, the relay
// fails, and the rank gathers the rest without it, because the others do too. Collective.
void give_wholes(const std::vector<SavedWhole>& tensors, const ProcessState& process,
                 ByteRelay* relay);

}  // namespace accel::runtime
