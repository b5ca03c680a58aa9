// The memory of one unit of a sharded model: parameters that are gathered and freed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "accel/sharding.h"
#include "runtime/core/sharding/flat_layout.h"
#include "runtime/parallel/parameter_reads.h"
#include "runtime/parallel/part_memory.h"
#include "runtime/parallel/unit_gradients.h"
#include "runtime/parallel/unit_layout.h"

namespace accel::runtime {

struct UnitOptions {
  GatherDtype gather_dtype = GatherDtype::kOwn;
  bool offloads_parts = false;  // Parts are in the host's memory, and the optimizer steps there.
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
  std::size_t size() const { return layout_.parameters().size(); }
  const UnitParameter& parameter(std::size_t i) const { return layout_.parameters()[i]; }
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

  // The gradients of its parameters.
  UnitGradients& gradients() { return gradients_; }

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
  ElementRange held(std::size_t i) const { return layout_.held(i); }
  // Sets the piece of parameter i to the values that the whole parameter has.
  void take_piece(std::size_t i, const at::Tensor& whole);
  // Returns the whole tensor, shaped like parameter i, of which `piece` is this rank's piece. The
  // result may share the memory of the piece. Collective: one broadcast from each rank that holds
  // elements of it.
  at::Tensor whole_of(std::size_t i, const at::Tensor& piece) const;

 private:
  // A flat buffer of parameters: see UnitLayout.
  struct Buffer {
    at::Tensor part;   // This rank's part of the parameters.
    at::Tensor whole;  // The whole parameters; without memory while the unit is free.
  };
  struct Member {
    at::Tensor whole;  // The parameter between steps.
    at::Tensor piece;  // The parameter in a step.
  };
  // Returns the buffers, with parts of zeros.
  std::vector<Buffer> empty_buffers() const;
  std::vector<at::Tensor> parts() const;
  bool is_rounded(const Buffer& buffer) const;
  // Returns this rank's part as it is sent to the others.
  at::Tensor sent(const Buffer& buffer, bool rounds);
  void gather_at_once(bool is_exact);

  const std::string name_, gather_call_;
  const ShardingGroups groups_;
  const GatherDtype gather_dtype_;
  const UnitLayout layout_;
  PartMemory memory_;
  std::vector<Buffer> buffers_;
  std::vector<Member> members_;  // By parameter.
  UnitGradients gradients_;
  std::vector<std::function<void()>> begun_;  // Each waits for a gather that has begun.
  bool is_gathered_ = false;
};

}  // namespace accel::runtime
