#pragma once

#include <iosfwd>

namespace accel::runtime {

// The first argument of write_archive(), which accel/save.h defines: by it the call below finds
// that function, although accel/accelerator.h does not include LibTorch's serialization.
struct ArchiveTag {};

// Returns a function that writes `object`, which outlives it, to a std::ostream as torch::save()
// does.
template <typename Object>
auto archive_writer(const Object& object) {
  static_assert(
      requires(std::ostream & out) { write_archive(ArchiveTag(), object, out); },
      "accelerator.save() needs #include \"accel/save.h\"");
  return [&object](std::ostream& out) { write_archive(ArchiveTag(), object, out); };
}

}  // namespace accel::runtime
