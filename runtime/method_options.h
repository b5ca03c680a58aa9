// What methods of the Accelerator take beside their objects.
#pragma once

#include <optional>

namespace accel {

struct PrepareOptions {
  // False: the model stays on the device where it is. Unset: AcceleratorOptions::device_placement.
  std::optional<bool> device_placement = {};
  // Only forward passes: nothing is kept consistent over the processes, and nothing is collective.
  bool evaluation_mode = false;
};

struct JoinOptions {
  // What holds instead of AcceleratorOptions::even_batches in the loops over prepared loaders that
  // begin in the scope. false: no sample is repeated. Streams, and what rank 0 reads for all, are
  // as before.
  std::optional<bool> even_batches = {};
};

struct SaveOptions {
  bool save_on_each_node = false;  // From the main process of each machine, for disks of their own.
};

// As torch::Tensor::backward() has them.
struct BackwardOptions {
  bool retain_graph = false;  // For a second pass through the same graph.
  // For derivatives of the gradients; retains the graph too. Reduced gradients have none:
  // std::invalid_argument for a loss of a prepared model of several processes.
  bool create_graph = false;
};

}  // namespace accel
