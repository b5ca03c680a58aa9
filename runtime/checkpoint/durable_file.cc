#include "runtime/checkpoint/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "accel/errors.h"
#include "common/unique_fd.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/core/crc32c.h"

namespace accel::runtime {
namespace {

// Memory, offset and size of a direct write must be multiples of the disk's block size.
constexpr std::size_t kAlignment = 4096;
// One block for each thread that writes, one that is full, and one that append() fills.
constexpr std::size_t kBlocks = kIoThreads + 2;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw CheckpointError(path.string() + ": cannot " + what + ": " + std::strerror(errno));
}

common::UniqueFd open_or_fail(const std::filesystem::path& path, int flags) {
  common::UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!fd.valid()) fail(path, "open");
  return fd;
}

void set_direct(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  // If the file system refuses, the file is written through the page cache.
  (void)::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

bool is_direct(int fd) { return (::fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

}  // namespace

struct DurableFile::Block {
  Block() : memory(static_cast<char*>(std::aligned_alloc(kAlignment, kIoBytes))) {
    if (memory == nullptr) throw std::bad_alloc();
  }
  ~Block() { std::free(memory); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char* const memory;
  std::size_t size = 0;
  std::size_t number = 0;  // The block's place in the file, counted in blocks from 0.
};

// Owns the file, the blocks and the threads that write them. The threads start with the second
// block, because most files have only one.
class DurableFile::Writers {
 public:
  explicit Writers(const std::filesystem::path& path)
      : path_(path), fd_(open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC)) {}

  ~Writers() { stop(); }

  Block* free_block() {
    std::unique_lock lock(mutex_);
    if (free_.empty() && blocks_.size() < kBlocks) free_.push_back(&blocks_.emplace_back());
    changed_.wait(lock, [&] { return error_ || !free_.empty(); });
    if (error_) std::rethrow_exception(error_);
    Block* block = free_.front();
    free_.pop_front();
    return block;
  }

  void start(std::uint64_t expected_size) {
    reserve(expected_size);
    set_direct(fd_.get(), true);
    for (std::size_t i = 0; i < kIoThreads; ++i) threads_.emplace_back([this] { run(); });
  }

  void write_later(Block* block) {
    const std::lock_guard lock(mutex_);
    full_.push_back(block);
    changed_.notify_all();
  }

  bool started() const { return !threads_.empty(); }

  // Waits for the threads, writes the last block if there is one, and syncs the file. Returns the
  // checksum of the whole file. The last block is written without O_DIRECT, because the end of a
  // file is rarely aligned.
  std::uint32_t finish(const Block* last, std::uint64_t size) {
    stop();
    if (error_) std::rethrow_exception(error_);
    set_direct(fd_.get(), false);
    if (last != nullptr) note_checksum(*last, write(*last));
    if (reserved_ && ::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) fail(path_, "truncate");
    if (::fsync(fd_.get()) != 0) fail(path_, "sync");
    std::uint32_t checksum = 0;
    for (std::size_t i = 0; i < checksums_.size(); ++i) {
      checksum = combine_crc32c(checksum, checksums_[i],
                                std::min<std::uint64_t>(kIoBytes, size - i * kIoBytes));
    }
    return checksum;
  }

 private:
  void reserve(std::uint64_t size) {
    if (size == 0) return;
    reserved_ = ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)) == 0;
    if (!reserved_ && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT || errno == EIO)) {
      fail(path_, "reserve room for");
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    threads_.clear();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !full_.empty(); });
      if (full_.empty()) return;
      Block* block = full_.front();
      full_.pop_front();
      lock.unlock();
      std::uint32_t checksum = 0;
      std::exception_ptr error;
      try {
        checksum = write(*block);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error && !error_) error_ = error;
      note_checksum(*block, checksum);
      free_.push_back(block);
      changed_.notify_all();
    }
  }

  void note_checksum(const Block& block, std::uint32_t checksum) {
    checksums_.resize(std::max(checksums_.size(), block.number + 1));
    checksums_[block.number] = checksum;
  }

  // Writes the block and returns its checksum. Falls back to the page cache if the file system
  // refuses the direct write itself.
  std::uint32_t write(const Block& block) const {
    const std::uint32_t checksum = extend_crc32c(0, block.memory, block.size);
    std::size_t done = 0;
    while (done < block.size) {
      // Read before the write, because another thread may turn direct writes off after it.
      const bool was_direct = is_direct(fd_.get());
      const ssize_t count = ::pwrite(fd_.get(), block.memory + done, block.size - done,
                                     static_cast<off_t>(block.number * kIoBytes + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EINVAL && was_direct) {
        set_direct(fd_.get(), false);
        continue;
      }
      if (count < 0) fail(path_, "write");
      done += static_cast<std::size_t>(count);
    }
    return checksum;
  }

  const std::filesystem::path path_;
  const common::UniqueFd fd_;
  bool reserved_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> blocks_;
  std::deque<Block*> free_, full_;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::vector<std::uint32_t> checksums_;  // The checksum of each block, by its number.
  std::vector<std::jthread> threads_;
};

DurableFile::DurableFile(const std::filesystem::path& path, std::uint64_t expected_size)
    : path_(path), expected_size_(expected_size), writers_(std::make_unique<Writers>(path)) {}

DurableFile::~DurableFile() = default;

void DurableFile::hand_over() {
  if (!writers_->started()) writers_->start(expected_size_);
  writers_->write_later(block_);
  block_ = nullptr;
}

void DurableFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (block_ != nullptr && block_->size == kIoBytes) hand_over();
    if (block_ == nullptr) {
      block_ = writers_->free_block();
      block_->size = 0;
      block_->number = size_ / kIoBytes;
    }
    const std::size_t count = std::min(bytes.size(), kIoBytes - block_->size);
    std::memcpy(block_->memory + block_->size, bytes.data(), count);
    block_->size += count;
    size_ += count;
    bytes.remove_prefix(count);
  }
}

FileFacts DurableFile::finish() {
  // A whole block is aligned, so it is written directly like those before it.
  if (block_ != nullptr && block_->size == kIoBytes && writers_->started()) hand_over();
  return {.size = size_, .crc32c = writers_->finish(block_, size_)};
}

FileFacts write_durably(const std::filesystem::path& path,
                        const std::vector<std::string_view>& parts) {
  std::uint64_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  DurableFile file(path, size);
  for (const std::string_view part : parts) file.append(part);
  return file.finish();
}

PartialFiles::~PartialFiles() {
  for (const std::filesystem::path& file : files_) {
    std::error_code none;
    std::filesystem::remove(file, none);
  }
}

std::filesystem::path PartialFiles::of(const std::filesystem::path& file) {
  return files_.emplace_back(file.string() + kPartialSuffix);
}

void replace_durably(const std::filesystem::path& path,
                     const std::vector<std::string_view>& parts) {
  const std::filesystem::path file = std::filesystem::absolute(path);
  create_folders_durably(file.parent_path());
  PartialFiles partial_files;
  const std::filesystem::path partial = partial_files.of(file);
  write_durably(partial, parts);
  std::error_code error;
  std::filesystem::rename(partial, file, error);
  if (error) throw CheckpointError(file.string() + ": cannot be replaced: " + error.message());
  sync_folder(file.parent_path());
}

void sync_file(const std::filesystem::path& file) {
  const common::UniqueFd fd = open_or_fail(file, O_RDONLY);
  if (::fsync(fd.get()) != 0) fail(file, "sync");
}

void create_folders_durably(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> changed;  // The folders that get a new name, innermost first.
  try {
    for (auto at = std::filesystem::absolute(folder); !std::filesystem::exists(at);) {
      at = at.parent_path();
      changed.push_back(at);
    }
    std::filesystem::create_directories(folder);
  } catch (const std::filesystem::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": cannot be created: " + error.code().message());
  }
  for (auto at = changed.rbegin(); at != changed.rend(); ++at) sync_folder(*at);
}

void sync_folder(const std::filesystem::path& folder) {
  const common::UniqueFd fd = open_or_fail(folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(fd.get()) != 0) fail(folder, "sync");
}

}  // namespace accel::runtime
