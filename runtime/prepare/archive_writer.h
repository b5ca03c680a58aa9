// Lets Accelerator::save() call LibTorch's serialization without including it.
#pragma once

#include <iosfwd>

namespace accel::runtime {

// The type of the first argument of write_archive(), which accel/save.h defines.
// Argument-dependent lookup of this type lets the call below find that function, although this
// header does not declare it.
struct ArchiveTag {};

// Returns a function that writes `object` to a std::ostream as torch::save() does. `object` must
// outlive the function.
template <typename Object>
auto archive_writer(const Object& object) {
  static_assert(
      requires(std::ostream & out) { write_archive(ArchiveTag(), object, out); },
      "accelerator.save() needs #include \"accel/save.h\"");
  return [&object](std::ostream& out) { write_archive(ArchiveTag(), object, out); };
}

}  // namespace accel::runtime
