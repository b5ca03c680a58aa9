#include "weights/saved_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <system_error>

#include "common/checkpoint_error.h"
#include "common/unique_fd.h"
#include "weights/core/dcp_metadata.h"
#include "weights/core/safetensors.h"
#include "weights/core/shard_files.h"
#include "weights/core/torch_archive.h"

namespace accel::weights {
namespace {

namespace fs = std::filesystem;

constexpr char kDcpMetadata[] = ".metadata";
// The pickle of one tensor has about 200 bytes.
constexpr std::uint64_t kMaxTensorPickle = 1 << 16;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw CheckpointError(file.string() + ": " + what);
}

[[noreturn]] void fail_with_reason(const fs::path& file, const std::string& what) {
  fail(file, what + ": " + std::strerror(errno));
}

// Returns the position in the file at which the bytes of an archived tensor begin. Checks the
// archive against the metadata.
std::uint64_t place_of(const DcpSlice& slice, const DcpTensor& tensor, const Box& box,
                       const std::string& file,
                       const std::function<std::string(std::uint64_t, std::uint64_t)>& read) {
  const std::uint64_t tail = std::min(slice.length, kArchiveTail);
  const auto entries = archive_entries(read(slice.length - tail, tail), slice.length, file);
  const auto find = [&](const std::string& name) -> const ArchiveEntry& {
    for (const ArchiveEntry& entry : entries) {
      if (entry.name == name) return entry;
    }
    fail(file, "an archive in it has no " + name + "; the file is torn: use another copy");
  };
  const auto begin_of = [&](const ArchiveEntry& entry) {
    return data_begin(entry, read(entry.header, kLocalHeader), slice.length, file);
  };
  const ArchiveEntry& pickle = find("data.pkl");
  if (pickle.size > kMaxTensorPickle) fail(file, "an archive in it holds no plain tensor");
  const ArchivedTensor found = parse_archived_tensor(read(begin_of(pickle), pickle.size), file);
  if (found.dtype != tensor.dtype || found.shape != box.sizes) {
    fail(file, "a tensor in it is not the one that .metadata describes: copy the folder again");
  }
  const ArchiveEntry& storage = find(found.storage);
  const std::uint64_t bytes = elements(box) * element_size(found.dtype);
  if (found.begin > storage.size || bytes > storage.size - found.begin) {
    fail(file, "a tensor in it is longer than its bytes: use another copy");
  }
  return slice.begin + begin_of(storage) + found.begin;
}

std::vector<std::string> safetensors_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") names.push_back(entry->path().filename());
  }
  if (error) fail(folder, "cannot be listed: " + error.message());
  if (names.empty()) {
    fail(folder, "holds no checkpoint: it has neither .metadata nor a file *.safetensors");
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

SavedFolder::SavedFolder(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) fail(folder, "is not a folder");
  if (fs::exists(folder / kDcpMetadata, error)) {
    read_dcp(folder / kDcpMetadata);
  } else {
    read_safetensors(safetensors_in(folder));
  }
  check_complete(saved_, folder.string());
}

SavedFolder::SavedFolder(const fs::path& folder, const std::vector<std::string>& names)
    : folder_(folder) {
  read_safetensors(names);
  check_complete(saved_, folder.string());
}

std::size_t SavedFolder::add_file(const std::string& name) {
  const fs::path path = folder_ / name;
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) fail_with_reason(path, "cannot be read");
  if (!S_ISREG(facts.st_mode)) fail(path, "is not a file");
  sizes_.push_back(static_cast<std::uint64_t>(facts.st_size));
  saved_.files.push_back(path.string());
  return sizes_.size() - 1;
}

void SavedFolder::read_safetensors(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::size_t file = add_file(name);
    const std::string& path = saved_.files[file];
    const std::uint64_t prefix = std::min<std::uint64_t>(sizes_[file], 8);
    const std::uint64_t length = header_length(read_bytes(file, 0, prefix), sizes_[file], path);
    add_shard_file(parse_header(read_bytes(file, prefix, length), sizes_[file], path), saved_);
  }
}

void SavedFolder::read_dcp(const fs::path& metadata) {
  add_file(kDcpMetadata);
  if (sizes_[0] > kMaxDcpMetadata) {
    fail(metadata, "has more than " + std::to_string(kMaxDcpMetadata) + " bytes");
  }
  const DcpMetadata parsed = parse_dcp_metadata(read_bytes(0, 0, sizes_[0]), metadata.string());
  objects_ = parsed.objects;
  std::map<std::string, std::size_t> files;
  for (const auto& [name, tensor] : parsed.tensors) {
    saved_.tensors[name] = {.dtype = tensor.dtype, .shape = tensor.shape, .pieces = {}};
    for (const DcpChunk& chunk : tensor.chunks) {
      const auto [found, is_new] = files.emplace(chunk.slice.file, sizes_.size());
      if (is_new) add_file(chunk.slice.file);
      const std::size_t file = found->second;
      const DcpSlice& slice = chunk.slice;
      if (slice.begin > sizes_[file] || slice.length > sizes_[file] - slice.begin) {
        fail(saved_.files[file], "ends before tensor " + name + ": copy the file again");
      }
      const auto read = [&](std::uint64_t begin, std::uint64_t length) {
        if (begin > slice.length || length > slice.length - begin) {
          fail(saved_.files[file], "an archive in it is torn: copy the file again");
        }
        return read_bytes(file, slice.begin + begin, length);
      };
      const std::uint64_t begin = place_of(slice, tensor, chunk.box, saved_.files[file], read);
      saved_.add(name, tensor.dtype, tensor.shape,
                 {.box = chunk.box, .file = file, .begin = begin});
    }
  }
}

std::string SavedFolder::read_bytes(std::size_t file, std::uint64_t begin,
                                    std::uint64_t length) const {
  std::string bytes(length, '\0');
  read_into(file, begin, length, bytes.data());
  return bytes;
}

void SavedFolder::read_into(std::size_t file, std::uint64_t begin, std::uint64_t length,
                            char* to) const {
  // Opened for each read, because a checkpoint of many ranks has more files than a
  // process may open.
  const common::UniqueFd fd(open(saved_.files[file].c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) fail_with_reason(saved_.files[file], "cannot be read");
  for (std::uint64_t done = 0; done < length;) {
    const ssize_t got = pread(fd.get(), to + done, length - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_reason(saved_.files[file], "cannot be read");
    if (got == 0) fail(saved_.files[file], "became shorter while it was read");
    done += static_cast<std::uint64_t>(got);
  }
}

void SavedFolder::read(const std::vector<ByteRange>& ranges, char* to) const {
  for (const ByteRange& range : ranges)
    read_into(range.file, range.begin, range.length, to + range.to);
}

}  // namespace accel::weights
