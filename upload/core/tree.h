// The tree of an upload: the list of all files and links that `accel submit --upload` sends. Its
// text, the manifest, is canonical, so that the SHA-256 of the manifest names the tree. Client,
// coordinator and node check trees with the same functions, because none of them can trust the tree
// that another has sent. Pure.
//
// clang-format off
//   accel tree 1
//   f<TAB>0644<TAB>1180<TAB>9f86d081…<TAB>train.py       a file: mode, size, SHA-256, path
//   l<TAB>../shared/vocab.txt<TAB>data/vocab.txt         a link: target, path
// clang-format on
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::upload {

inline constexpr int64_t kMaxTreeBytes = int64_t{2} << 30;  // Maximum sum of all files.
inline constexpr size_t kMaxEntries = 20'000;
inline constexpr size_t kMaxManifestBytes = 8 << 20;
inline constexpr size_t kMaxPathBytes = 1024;  // Maximum for a path or a target of a link.
inline constexpr size_t kMaxNameBytes = 255;   // Maximum for one part of a path.
inline constexpr size_t kMaxDepth = 32;        // Maximum number of parts of a path.

struct TreeEntry {
  std::string path;         // Relative to the root of the tree.
  bool executable = false;  // Files have mode 0755 or 0644.
  int64_t size = 0;
  std::string sha256;  // 64 hexadecimal digits. Empty for a link.
  std::string link;    // The target of a link. Empty for a file.

  bool is_link() const { return !link.empty(); }
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

// Sorted by path, byte by byte. Folders have no entries, so empty folders are not uploaded.
using Tree = std::vector<TreeEntry>;

// Returns true for 64 lower-case hexadecimal digits.
bool IsSha256(absl::string_view text);

// Checks all fields except the hashes. INVALID_ARGUMENT: the tree is empty or not sorted, or one
// entry is the folder of another. It also stands for a path or a link's target that is not allowed.
// RESOURCE_EXHAUSTED: the tree has more than kMaxEntries or kMaxTreeBytes. The message says what to
// do, and quotes the path if the error is about one entry.
absl::Status CheckTree(const Tree& tree);

// Returns the manifest of a tree that CheckTree() accepts and whose files have hashes.
std::string ToManifest(const Tree& tree);

// Returns the tree of a manifest. INVALID_ARGUMENT: `manifest` is malformed, or ToManifest() makes
// another manifest of its tree. RESOURCE_EXHAUSTED: also if `manifest` is longer than
// kMaxManifestBytes. Other errors are those of CheckTree().
absl::StatusOr<Tree> ParseManifest(absl::string_view manifest);

}  // namespace accel::upload
