// Programs that call Accelerator::save() include this header. It is not part of
// accel/accelerator.h, because LibTorch's serialization takes seconds to compile.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/serialize.h>

#include <ostream>

#include "accel/accelerator.h"
#include "runtime/prepare/archive_writer.h"

namespace accel::runtime {

// Writes `object` to `out` as torch::save() does. Writes a prepared model or optimizer as the
// module or optimizer that it holds.
template <typename Object>
void write_archive(ArchiveTag, const Object& object, std::ostream& out) {
  if constexpr (requires { object.unwrap(); }) {
    torch::save(object.unwrap(), out);
  } else if constexpr (requires(torch::optim::Optimizer * &base) { base = object.ptr().get(); }) {
    torch::save(*object, out);
  } else {
    torch::save(object, out);
  }
}

}  // namespace accel::runtime
