// Safetensors files of whole tensors, of which only one is in memory at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/checkpoint/byte_relay.h"
#include "runtime/checkpoint/sharded_state.h"

namespace accel::runtime {

// The layout of such a file. It is the same on all ranks, because it depends only on shapes and
// dtypes. The file has the same bytes as a TensorFile of the whole tensors.
struct WholeFile {
  // Throws std::invalid_argument for a dtype that the format lacks.
  explicit WholeFile(const std::vector<SavedWhole>& tensors);

  std::string header;
  std::uint64_t size = 0;           // Bytes, with the header.
  std::vector<SavedWhole> tensors;  // In the order of their bytes.
};

// Makes the tensors whole one after the other, and gives them to the relay. The relay is null
// on all ranks except the one that writes the file. If that rank cannot copy a tensor to the
// CPU, the relay fails. The rank still gathers the remaining tensors, because the other ranks
// do too. Collective.
void give_wholes(const std::vector<SavedWhole>& tensors, const ProcessState& process,
                 ByteRelay* relay);

}  // namespace accel::runtime
