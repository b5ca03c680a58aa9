// Where the parameters of one unit of a sharded model lie: in flat buffers, of which each rank
// holds a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/core/sharding/flat_layout.h"
#include "runtime/parallel/libtorch.h"

namespace accel::runtime {

// The ranks among which a model is sharded. The ranks of `shard` together hold the model once. The
// ranks of `replicate` hold the same shard. Each is null if it would have only this rank.
struct ShardingGroups {
  std::shared_ptr<Communicator> world, shard, replicate;

  int parts() const { return shard == nullptr ? 1 : shard->size(); }
  int part() const { return shard == nullptr ? 0 : shard->rank(); }
};

// A parameter of a unit, with the first of its names in the model.
struct UnitParameter {
  std::string name;
  at::Tensor tensor;
};

// The parameters of a unit, and the layouts of its flat buffers. There is a buffer for each dtype,
// and a separate one for parameters that are frozen at the start, because they need no gradients.
class UnitLayout {
 public:
  // This rank holds part `part` of `parts`.
  UnitLayout(std::vector<UnitParameter> parameters, int parts, int part);

  const std::vector<UnitParameter>& parameters() const { return parameters_; }
  const at::Tensor& tensor(std::size_t i) const { return parameters_[i].tensor; }
  // The place of parameter i in the list of buffers.
  std::size_t buffer_of(std::size_t i) const { return places_[i].buffer; }

  std::size_t buffers() const { return buffers_.size(); }
  const FlatLayout& flat(std::size_t buffer) const { return buffers_[buffer].flat; }
  // The options of a tensor that holds a whole buffer.
  const at::TensorOptions& options(std::size_t buffer) const { return buffers_[buffer].options; }
  // Returns true if a parameter of the buffer requires a gradient, which is the same on all ranks.
  bool is_trained(std::size_t buffer) const;

  // Returns the elements of parameter i, flattened, in a tensor that holds its whole buffer.
  at::Tensor whole_in(const at::Tensor& buffer, std::size_t i) const;
  // Returns this rank's elements of parameter i in a tensor that holds this rank's part of its
  // buffer.
  at::Tensor piece_in(const at::Tensor& part, std::size_t i) const;
  // Returns which elements of the flattened parameter i `part` has, or this rank's part.
  ElementRange held(std::size_t i, int part) const;
  ElementRange held(std::size_t i) const { return held(i, part_); }

 private:
  struct Buffer {
    FlatLayout flat;
    at::TensorOptions options;
  };
  struct Place {
    std::size_t buffer = 0, tensor = 0;  // The buffer, and the tensor of its layout.
  };

  const std::vector<UnitParameter> parameters_;
  const int part_;
  std::vector<Buffer> buffers_;
  std::vector<Place> places_;  // By parameter.
};

// Returns the elements of `range` in a tensor of one dimension.
at::Tensor elements_of(const at::Tensor& flat, const ElementRange& range);

}  // namespace accel::runtime
