#include "weights/merge.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <system_error>

#include "common/checkpoint_error.h"
#include "common/unique_fd.h"
#include "weights/saved_folder.h"

namespace accel::weights {
namespace {

namespace fs = std::filesystem;

// A file that the destructor deletes unless it is finished.
class NewFile {
 public:
  explicit NewFile(const fs::path& path) : path_(path), partial_(path.string() + ".partial") {
    fd_ = common::UniqueFd(
        open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!fd_.valid()) fail("cannot be created");
  }
  ~NewFile() {
    std::error_code ignored;
    if (!is_finished_) fs::remove(partial_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(const char* bytes, std::uint64_t count) {
    while (count > 0) {
      const ssize_t done = write(fd_.get(), bytes, count);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail("cannot be written");
      bytes += done;
      count -= static_cast<std::uint64_t>(done);
    }
  }

  // Makes the file durable under its own name.
  void finish() {
    if (fsync(fd_.get()) != 0) fail("cannot be written");
    if (rename(partial_.c_str(), path_.c_str()) != 0) fail("cannot be renamed");
    is_finished_ = true;
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    const common::UniqueFd parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent.valid() || fsync(parent.get()) != 0) fail("cannot be made durable");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw CheckpointError(partial_.string() + ": " + what + ": " + std::strerror(errno));
  }

  const fs::path path_;
  const fs::path partial_;
  common::UniqueFd fd_;
  bool is_finished_ = false;
};

// Returns the key and the dot that all names begin with, or an empty text.
std::string common_key(const std::map<std::string, SavedTensor>& tensors) {
  const std::string& first = tensors.begin()->first;
  const std::string key = first.substr(0, first.find('.') + 1);
  const bool everywhere = std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
    return tensor.first.size() > key.size() && tensor.first.starts_with(key);
  });
  return everywhere ? key : "";
}

bool is_dcp(const SavedTensors& saved) { return saved.files.front().ends_with("/.metadata"); }

}  // namespace

Merged merge(const fs::path& folder, const fs::path& out) {
  const SavedFolder checkpoint(folder);
  const SavedTensors& saved = checkpoint.saved();
  if (saved.tensors.empty()) throw CheckpointError(folder.string() + ": holds no tensors");
  std::error_code error;
  for (const std::string& file : saved.files) {
    if (fs::equivalent(file, out, error)) {
      throw CheckpointError(out.string() + ": is a file of the checkpoint: choose another name");
    }
  }
  const std::string key = is_dcp(saved) ? common_key(saved.tensors) : "";
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : saved.tensors) {
    entries.push_back(
        {.name = name.substr(key.size()), .dtype = tensor.dtype, .shape = tensor.shape});
  }
  const SafetensorsHeader header = lay_out(std::move(entries));
  const std::string first = header_bytes(header);
  Merged merged = {.file = out,
                   .tensors = header.entries.size(),
                   .bytes = header.data_begin + header.data_size,
                   .largest = 0,
                   .skipped = checkpoint.objects()};
  NewFile file(out);
  file.append(first.data(), first.size());
  std::string bytes;
  for (const SafetensorsEntry& entry : header.entries) {
    const SavedTensor& tensor = saved.tensors.at(key + entry.name);
    bytes.resize(entry.end - entry.begin);
    checkpoint.read(reads_for(tensor, whole(tensor.shape)), bytes.data());
    file.append(bytes.data(), bytes.size());
    merged.largest = std::max<std::uint64_t>(merged.largest, bytes.size());
  }
  file.finish();
  return merged;
}

}  // namespace accel::weights
