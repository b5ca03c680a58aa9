// For Accelerator::save(), which saves what torch::save() takes. It stands apart from
// accel/accelerator.h because LibTorch's serialization takes seconds to compile.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/serialize.h>

#include <ostream>

#include "accel/accelerator.h"
#include "runtime/prepare/archive_writer.h"

namespace accel::runtime {

// Writes `object`, or the module or optimizer behind a prepared one, to `out` as torch::save()
// does.
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
