#include "accel/transform_generator.h"

#include <ATen/core/Generator.h>

#include "runtime/data/transform_rng.h"

namespace accel {

at::Generator transform_generator() { return runtime::ReadScope::generator(); }

}  // namespace accel
