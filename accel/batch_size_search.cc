#include "accel/batch_size_search.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string_view>

namespace accel {

bool should_reduce_batch_size(const std::exception& error) {
  if (dynamic_cast<const std::logic_error*>(&error) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return false;
  }
  constexpr std::string_view kTexts[] = {
      " out of memory.",  // CUDA, HIP and XPU.
      "MPS backend out of memory",
      "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.",
      "DefaultCPUAllocator: can't allocate memory",
      "FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed",
  };
  const std::string_view what = error.what();
  return std::any_of(std::begin(kTexts), std::end(kTexts), [&](std::string_view text) {
    return what.find(text) != std::string_view::npos;
  });
}

}  // namespace accel
