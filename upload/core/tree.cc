#include "upload/core/tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace accel::upload {
namespace {

constexpr absl::string_view kTitle = "accel tree 1\n";
constexpr absl::string_view kPlain = "0644";
constexpr absl::string_view kExecutable = "0755";
constexpr size_t kSha256Digits = 64;
constexpr size_t kMaxQuoted = 256;

std::string Quoted(absl::string_view path) {
  return common::Shortened(common::Printable(path), kMaxQuoted);
}

absl::Status Bad(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(path), " cannot be uploaded: ", why, "; .accelignore can leave it out"));
}

bool HasControlByte(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char byte) {
    const unsigned char value = static_cast<unsigned char>(byte);
    return value < 0x20 || value == 0x7f;
  });
}

absl::Status CheckPath(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("an entry of the upload has no path");
  if (path.size() > kMaxPathBytes) {
    return Bad(path, absl::StrCat("its path has more than ", kMaxPathBytes, " bytes"));
  }
  if (!common::IsUtf8(path) || HasControlByte(path)) {
    return Bad(path, "its path is not UTF-8 or has a control character");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() > kMaxDepth) {
    return Bad(path, absl::StrCat("it is more than ", kMaxDepth, " folders deep"));
  }
  for (const absl::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return Bad(path, "its path must be relative, without empty parts, `.` and `..`");
    }
    if (part.size() > kMaxNameBytes) {
      return Bad(path, absl::StrCat("a name in it has more than ", kMaxNameBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

// Checks that a link leads to a place in the upload. The target may have `..` only at its
// beginning. There each `..` leaves a real folder, because no link is the folder of an entry. After
// that the target goes down, perhaps through other links, which also remain inside. A later `..`
// would be refused, because it could leave the target of such a link instead of the link's folder.
absl::Status CheckLink(const TreeEntry& entry) {
  constexpr absl::string_view kOut = "it is a link that leads, or may lead, out of the upload";
  if (entry.link.size() > kMaxPathBytes || !common::IsUtf8(entry.link) ||
      HasControlByte(entry.link)) {
    return Bad(entry.path, "the target of this link is too long, or is not UTF-8");
  }
  const auto folders = std::count(entry.path.begin(), entry.path.end(), '/');
  std::ptrdiff_t ups = 0;
  bool goes_down = false;
  for (const absl::string_view part : absl::StrSplit(entry.link, '/')) {
    if (part.empty()) return Bad(entry.path, kOut);  // An absolute target, or an empty part.
    if (part == ".") continue;
    if (part != "..") {
      goes_down = true;
    } else if (goes_down || ++ups > folders) {
      return Bad(entry.path, kOut);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const Tree& tree) {
  constexpr absl::string_view kHint = "leave out what the program does not need in .accelignore";
  if (tree.size() > kMaxEntries) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the upload has more than ", kMaxEntries, " files; ", kHint));
  }
  int64_t bytes = 0;
  const TreeEntry* largest = nullptr;
  for (const TreeEntry& entry : tree) {
    if (entry.size < 0 || (entry.is_link() && entry.size != 0)) {
      return Bad(entry.path, "its size is wrong");
    }
    if (largest == nullptr || entry.size > largest->size) largest = &entry;
    // Each size is bounded before it is added, so that the sum cannot overflow.
    bytes += std::min(entry.size, kMaxTreeBytes + 1);
    if (bytes <= kMaxTreeBytes) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("the upload has more than ", kMaxTreeBytes >> 20, " MiB (",
                     Quoted(largest->path), " alone has ", largest->size >> 20, " MiB); ", kHint));
  }
  return absl::OkStatus();
}

// Parses the line of one entry, without its line feed.
std::optional<TreeEntry> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  TreeEntry entry;
  if (fields.size() == 3 && fields[0] == "l" && !fields[1].empty()) {
    entry.link = std::string(fields[1]);
    entry.path = std::string(fields[2]);
    return entry;
  }
  if (fields.size() != 5 || fields[0] != "f") return std::nullopt;
  if (fields[1] != kPlain && fields[1] != kExecutable) return std::nullopt;
  if (!absl::SimpleAtoi(fields[2], &entry.size) || !IsSha256(fields[3])) return std::nullopt;
  entry.executable = fields[1] == kExecutable;
  entry.sha256 = std::string(fields[3]);
  entry.path = std::string(fields[4]);
  return entry;
}

}  // namespace

bool IsSha256(absl::string_view text) {
  return text.size() == kSha256Digits && std::all_of(text.begin(), text.end(), [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

absl::Status CheckTree(const Tree& tree) {
  if (tree.empty()) return absl::InvalidArgumentError("there is no file to upload");
  ACCEL_RETURN_IF_ERROR(CheckSizes(tree));
  absl::flat_hash_set<absl::string_view> paths;
  for (size_t i = 0; i < tree.size(); ++i) {
    const TreeEntry& entry = tree[i];
    ACCEL_RETURN_IF_ERROR(CheckPath(entry.path));
    if (entry.is_link()) ACCEL_RETURN_IF_ERROR(CheckLink(entry));
    if (i > 0 && tree[i - 1].path >= entry.path) return Bad(entry.path, "the list is not sorted");
    paths.insert(entry.path);
  }
  for (const TreeEntry& entry : tree) {
    const absl::string_view path = entry.path;
    for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
      if (paths.contains(path.substr(0, end))) {
        return Bad(path, "another entry of the upload, which is no folder, has its folder's name");
      }
    }
  }
  return absl::OkStatus();
}

std::string ToManifest(const Tree& tree) {
  std::string manifest(kTitle);
  for (const TreeEntry& entry : tree) {
    if (entry.is_link()) {
      absl::StrAppend(&manifest, "l\t", entry.link, "\t", entry.path, "\n");
    } else {
      absl::StrAppend(&manifest, "f\t", entry.executable ? kExecutable : kPlain, "\t", entry.size,
                      "\t", entry.sha256, "\t", entry.path, "\n");
    }
  }
  return manifest;
}

absl::StatusOr<Tree> ParseManifest(absl::string_view manifest) {
  if (manifest.size() > kMaxManifestBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the list of the upload's files has ",
                                                     manifest.size(), " bytes; at most ",
                                                     kMaxManifestBytes));
  }
  const auto malformed = [](size_t line) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line, " of the list of the upload's files is malformed"));
  };
  if (!absl::StartsWith(manifest, kTitle)) return malformed(1);
  Tree tree;
  for (absl::string_view rest = manifest.substr(kTitle.size()); !rest.empty();) {
    const size_t end = rest.find('\n');
    std::optional<TreeEntry> entry =
        end == rest.npos ? std::nullopt : ParseLine(rest.substr(0, end));
    if (!entry.has_value()) return malformed(tree.size() + 2);
    tree.push_back(*std::move(entry));
    if (tree.size() > kMaxEntries) return CheckSizes(tree);
    rest.remove_prefix(end + 1);
  }
  ACCEL_RETURN_IF_ERROR(CheckTree(tree));
  if (ToManifest(tree) == manifest) return tree;
  return absl::InvalidArgumentError("the list of the upload's files is not in its one form");
}

}  // namespace accel::upload
