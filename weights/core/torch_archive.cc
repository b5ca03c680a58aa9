#include "weights/core/torch_archive.h"

#include <stdexcept>

#include "common/checkpoint_error.h"
#include "weights/core/dcp_metadata.h"
#include "weights/core/pickle.h"

namespace accel::weights {
namespace {

using Kind = PickleValue::Kind;

// Signatures and sizes of the parts of a zip archive. torch always writes the 64-bit directory end
// too, which is read only for archives beyond the limits of the 32-bit one.
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint64_t kDirectoryEndSize = 22;
constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr std::uint64_t kDirectoryEnd64Size = 56;
constexpr std::uint64_t kLocatorSize = 20;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint64_t kDirectoryEntrySize = 46;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kIs64 = 0xffffffff;
constexpr std::uint64_t kExtra64 = 0x0001;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw CheckpointError(file + ": " + what + "; the file is torn: use another copy");
}

// Returns the number of `width` bytes at `at`, or fails if the text ends before.
std::uint64_t number(std::string_view text, std::uint64_t at, std::size_t width,
                     const std::string& file) {
  if (at > text.size() || width > text.size() - at) fail(file, "its zip directory ends early");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
  }
  return value;
}

// Replaces numbers of a file that are too large for 32 bits by the numbers in the extra field of
// its directory entry.
void read_extra(std::string_view extra, std::uint64_t* (&numbers)[3], const std::string& file) {
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, at, 2, file);
    const std::uint64_t length = number(extra, at + 2, 2, file);
    std::uint64_t field = at + 4;
    if (id == kExtra64) {
      for (std::uint64_t* value : numbers) {
        if (*value != kIs64) continue;
        *value = number(extra, field, 8, file);
        field += 8;
      }
    }
    at += 4 + length;
  }
}

// Returns the name without the archive's own folder.
std::string inner_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  return std::string(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

// Returns true for a global that torch writes for one tensor.
bool is_known(std::string_view global) {
  return global == "torch._utils _rebuild_tensor_v2" ||
         global == "torch._utils _rebuild_parameter" || global == "collections OrderedDict" ||
         (global.starts_with("torch ") && global.ends_with("Storage"));
}

const PickleValue& item(const PickleValue& list, std::size_t i, Kind kind,
                        const std::string& file) {
  if (list.kind != Kind::kList || i >= list.items.size() || list.items[i]->kind != kind) {
    fail(file, "it holds no plain tensor");
  }
  return *list.items[i];
}

Shape shape_of(const PickleValue& list, const std::string& file) {
  Shape shape;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::int64_t size = item(list, i, Kind::kInt, file).number;
    if (size < 0) fail(file, "its tensor has a negative size");
    shape.push_back(size);
  }
  return shape;
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  if (shape.size() != strides.size()) return false;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != stride) return false;
    stride *= shape[d];
  }
  return true;
}

}  // namespace

std::vector<ArchiveEntry> archive_entries(std::string_view tail, std::uint64_t size,
                                          const std::string& file) {
  if (tail.size() < kDirectoryEndSize || tail.size() > size) fail(file, "it is no zip archive");
  const std::uint64_t end = tail.size() - kDirectoryEndSize;
  // torch's archives have no comment, so the directory's end is the end of the archive.
  if (number(tail, end, 4, file) != kDirectoryEnd) fail(file, "it is no zip archive");
  std::uint64_t count = number(tail, end + 10, 2, file);
  std::uint64_t directory = number(tail, end + 16, 4, file);
  if (directory == kIs64) {
    if (end < kLocatorSize + kDirectoryEnd64Size) fail(file, "it is no zip archive");
    const std::uint64_t end64 = end - kLocatorSize - kDirectoryEnd64Size;
    if (number(tail, end64, 4, file) != kDirectoryEnd64) fail(file, "it is no zip archive");
    count = number(tail, end64 + 32, 8, file);
    directory = number(tail, end64 + 48, 8, file);
  }
  const std::uint64_t tail_begin = size - tail.size();
  if (directory < tail_begin || directory > size) fail(file, "its directory is not at its end");
  std::uint64_t at = directory - tail_begin;
  std::vector<ArchiveEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (number(tail, at, 4, file) != kDirectoryEntry) fail(file, "its zip directory is malformed");
    if (number(tail, at + 10, 2, file) != 0) fail(file, "it is compressed");
    std::uint64_t stored = number(tail, at + 20, 4, file);
    ArchiveEntry entry;
    entry.size = number(tail, at + 24, 4, file);
    entry.header = number(tail, at + 42, 4, file);
    const std::uint64_t name = number(tail, at + 28, 2, file);
    const std::uint64_t extra = number(tail, at + 30, 2, file);
    const std::uint64_t comment = number(tail, at + 32, 2, file);
    if (name + extra > tail.size() - at - kDirectoryEntrySize)
      fail(file, "its directory ends early");
    entry.name = inner_name(tail.substr(at + kDirectoryEntrySize, name));
    std::uint64_t* numbers[3] = {&entry.size, &stored, &entry.header};
    read_extra(tail.substr(at + kDirectoryEntrySize + name, extra), numbers, file);
    entries.push_back(std::move(entry));
    at += kDirectoryEntrySize + name + extra + comment;
  }
  return entries;
}

std::uint64_t data_begin(const ArchiveEntry& entry, std::string_view header, std::uint64_t size,
                         const std::string& file) {
  if (number(header, 0, 4, file) != kLocalSignature) fail(file, "an entry has no header");
  const std::uint64_t skipped =
      kLocalHeader + number(header, 26, 2, file) + number(header, 28, 2, file);
  if (entry.header > size || skipped > size - entry.header ||
      entry.size > size - entry.header - skipped) {
    fail(file, "an entry lies outside of the archive");
  }
  return entry.header + skipped;
}

ArchivedTensor parse_archived_tensor(std::string_view pickle, const std::string& file) {
  try {
    const Pickle parsed(pickle, is_known);
    const PickleValue* root = &parsed.root();
    if (root->is_object_of("torch._utils _rebuild_parameter")) {
      root = &item(*root->items[1], 0, Kind::kObject, file);
    }
    if (!root->is_object_of("torch._utils _rebuild_tensor_v2")) {
      fail(file, "it holds no plain tensor");
    }
    // (storage, offset, size, strides, ...), where storage is ("storage", type, key, device, size).
    const PickleValue& arguments = *root->items[1];
    const PickleValue& storage = *item(arguments, 0, Kind::kPersistent, file).items[0];
    ArchivedTensor tensor;
    tensor.dtype = dtype_of_torch(item(storage, 1, Kind::kGlobal, file).text, file);
    tensor.storage = "data/" + item(storage, 2, Kind::kText, file).text;
    tensor.shape = shape_of(item(arguments, 2, Kind::kList, file), file);
    const Shape strides = shape_of(item(arguments, 3, Kind::kList, file), file);
    const std::uint64_t element = element_size(tensor.dtype);
    if (!fits(whole(tensor.shape), tensor.shape, element)) fail(file, "its tensor is too large");
    if (!is_row_major(tensor.shape, strides)) {
      throw CheckpointError(file + ": a tensor of shape " + text_of(tensor.shape) +
                            " is stored with strides " + text_of(strides) +
                            ": save it again after .contiguous()");
    }
    const std::int64_t offset = item(arguments, 1, Kind::kInt, file).number;
    if (offset < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(offset), element, &tensor.begin)) {
      fail(file, "its tensor has an impossible offset");
    }
    return tensor;
  } catch (const std::invalid_argument& error) {
    fail(file, error.what());
  }
}

}  // namespace accel::weights
