// Loads a model, or this rank's parts of it, from weights of any form: files of whole tensors, or
// parts that another number of ranks has written.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/core/sharding/flat_layout.h"
#include "weights/core/box.h"
#include "weights/saved_folder.h"

namespace accel::runtime {

// The elements `held` of a tensor, and the memory that they are loaded to.
struct PartTarget {
  std::vector<std::string> names;  // All names of one tied tensor; the first that is saved counts.
  weights::Shape shape;            // The shape of the whole tensor.
  ElementRange held;               // Counted in the flattened tensor.
  torch::Tensor memory;            // Any dtype, device and shape of this number of elements.
  bool is_required = false;        // True if it must be saved even if not `strict`.
};

// A load of one model. The constructor compares names and shapes, so that several models can be
// compared before one is changed.
class PartsLoad {
 public:
  // If `strict`, each target must be saved, and each saved tensor must have a target. Otherwise the
  // tensors that both have are loaded, and only required targets must be saved. `what` names the
  // file or folder in errors. Throws CheckpointError.
  PartsLoad(weights::SavedFolder saved, std::vector<PartTarget> targets, const std::string& what,
            bool strict);

  // Reads the bytes of the targets, and no others, several tensors at a time. Throws
  // CheckpointError if a file cannot be read.
  void run() const;

 private:
  struct Read {
    std::string name;
    PartTarget target;
  };
  void read(const Read& one) const;

  weights::SavedFolder saved_;
  std::vector<Read> reads_;
};

}  // namespace accel::runtime
