// The list of an upload's files, which a client makes, and which the coordinator and each node
// believe only after the same check.
#include <filesystem>

#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"
#include "upload/core/tree.h"

namespace accel::upload {
namespace {

namespace fs = std::filesystem;

// Aborts unless the path, without any link, lies in the folder that it is relative to.
void CheckInside(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  ACCEL_CHECK(normal.is_relative() && (normal.empty() || *normal.begin() != ".."),
              "nothing leads out of the upload");
}

}  // namespace

FUZZ_TARGET(manifest) {
  const auto tree = ParseManifest(manifest);
  if (!tree.ok()) return fuzz::CheckRefusal(tree.status());
  ACCEL_CHECK(ToManifest(*tree) == manifest, "a tree has one manifest");
  for (const TreeEntry& entry : *tree) {
    const fs::path path = entry.path;
    CheckInside(path);
    if (entry.is_link()) CheckInside(path.parent_path() / entry.link);
  }
}

}  // namespace accel::upload
