// The memory of one unit of a sharded model: parameters that are gathered and freed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accel/sharding.h"
#include "runtime/comm/communicator.h"
#include "runtime/core/sharding/flat_layout.h"
#include "runtime/parallel/parameter_reads.h"
#include "runtime/parallel/part_memory.h"

namespace accel::runtime {

// The ranks among which a model is sharded. The ranks of `shard` together hold the model once. The
// ranks of `replicate` hold the same shard. Each is null if it would have only this rank.
struct ShardingGroups {
  std::shared_ptr<Communicator> world, shard, replicate;

  int parts() const { return shard == nullptr ? 1 : shard->size(); }
  int part() const { return shard == nullptr ? 0 : shard->rank(); }
};

struct UnitOptions {
  GatherDtype gather_dtype = GatherDtype::kOwn;
  bool offloads_parts = false;  // Parts are in the host's memory, and the optimizer steps there.
};

// A parameter of a unit, with the first of its names in the model.
struct UnitParameter {
  std::string name;
  at::Tensor tensor;
};

// The memory of a unit: this rank's part of each parameter, and at times the whole parameters and
// their gradients. While the unit is free, each parameter has its shape but no memory. The
// parameters remain the same objects throughout (docs/decisions/0063). Not thread-safe.
class ShardedUnit {
 public:
  // Takes over the parameters, which hold rank 0's values on all ranks. Keeps this rank's part and
  // frees the rest. The part of a parameter without memory (without_memory.h) is zero. Errors
  // contain `name`. Reads of the parameters are reported to `listener`, which must outlive this
  // object. Not collective.
  ShardedUnit(std::string name, std::vector<UnitParameter> parameters, const ShardingGroups& groups,
              ReadListener* listener, const UnitOptions& options);
  // Gives each parameter its piece as plain memory.
  ~ShardedUnit();
  ShardedUnit(const ShardedUnit&) = delete;
  ShardedUnit& operator=(const ShardedUnit&) = delete;

  const std::string& name() const { return name_; }
  std::size_t size() const { return members_.size(); }
  const UnitParameter& parameter(std::size_t i) const { return members_[i].parameter; }
  // Returns the bytes of the buffers of whole parameters, with their padding. If `only_trained`,
  // counts only the buffers of parameters that require a gradient.
  std::int64_t bytes(bool only_trained) const;
  // Returns the bytes of the bf16 copies that exist in addition while the unit is being gathered.
  std::int64_t copied_bytes() const;

  // begin_gather() begins to gather the whole parameters, gather() completes this, and free() frees
  // them. begin_gather() is optional, and other collectives may come between it and gather(). Both
  // are collective. Parameters of fp32 are rounded to bf16 with GatherDtype::kBfloat16.
  void begin_gather();
  void gather();
  void free();

  // Moves the gradient of parameter i, which has just arrived, into its buffer of gradients.
  void add_gradient(std::size_t i);
  // Returns true if there are unreduced gradients.
  bool has_gradients() const;
  // Reduces the gradients to this rank's part of their mean, and adds it to the part of earlier
  // passes. Parameters without a gradient count as zero. Collective.
  void reduce();
  // Drop the unreduced gradient of parameter i, or all gradients and means.
  void drop_gradient(std::size_t i);
  void drop_gradients();

  // Between passes, the gradient of a parameter is its piece of the mean. take_means() moves these
  // pieces to the buffers before a pass. give_means() returns them after it, to each parameter that
  // had one and to those for which has_mean[i] is true.
  void take_means();
  void give_means(const std::vector<bool>& has_mean);

  // begin_whole() gathers the exact parameters as plain memory, whose reads are not reported.
  // It is collective. end_whole() frees them. If `is_written`, it first takes this rank's
  // pieces from them.
  void begin_whole();
  void end_whole(bool is_written);

  // begin_step() gives the parameters their pieces as plain memory, for an optimizer, and
  // end_step() takes the pieces back. If the parts of a GPU are offloaded, the parameters are on
  // the CPU in between.
  void begin_step();
  void end_step();

  // piece() returns this rank's piece of parameter i, flattened, and held() returns which of its
  // elements the piece has. piece() waits until the piece may be written to.
  at::Tensor piece(std::size_t i) const;
  ElementRange held(std::size_t i) const;
  // Sets the piece of parameter i to the values that the whole parameter has.
  void take_piece(std::size_t i, const at::Tensor& whole);
  // Returns the whole tensor, shaped like parameter i, of which `piece` is this rank's piece. The
  // result may share the memory of the piece. Collective: one broadcast from each rank that holds
  // elements of it.
  at::Tensor whole_of(std::size_t i, const at::Tensor& piece) const;

 private:
  // A flat buffer of parameters of one dtype, which are all trained or all frozen.
  struct Buffer {
    FlatLayout layout;
    at::Tensor part;   // This rank's part of the parameters.
    at::Tensor whole;  // The whole parameters; without memory while the unit is free.
    // The unreduced gradients; undefined if there are none.
    at::Tensor gradients = {};
    at::Tensor mean = {};  // This rank's part of the mean; defined only inside of a pass.
  };
  struct Member {
    UnitParameter parameter;
    std::size_t buffer = 0, place = 0;  // The buffer, and the tensor of its layout.
    at::Tensor whole = {};              // The parameter between steps.
    at::Tensor piece = {};              // The parameter in a step.
    bool is_added = false;              // True if its gradient is in the buffer of gradients.
    bool had_mean = false;              // True if it had a mean before this pass.
  };
  void lay_out();
  at::Tensor piece_in(const at::Tensor& part, const Member& member) const;
  // Returns true if a parameter of the buffer requires a gradient, which is the same on all ranks.
  bool is_trained(std::size_t index) const;
  void reduce(Buffer& buffer, std::size_t index);
  bool is_rounded(const Buffer& buffer) const;
  // Returns this rank's part as it is sent to the others.
  at::Tensor sent(const Buffer& buffer, bool rounds);
  void gather_at_once(bool is_exact);

  const std::string name_, gather_call_, reduce_call_;
  const ShardingGroups groups_;
  const GatherDtype gather_dtype_;
  PartMemory memory_;
  std::vector<Member> members_;
  std::vector<Buffer> buffers_;
  std::vector<std::function<void()>> begun_;  // Each waits for a gather that has begun.
  bool is_gathered_ = false;
};

}  // namespace accel::runtime
