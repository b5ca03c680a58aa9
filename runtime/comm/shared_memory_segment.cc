#include "runtime/comm/shared_memory_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace accel::runtime {
namespace {

constexpr std::size_t kPage = 4096;
constexpr char kNamePrefix[] = "accel-";

struct Header {
  std::array<std::uint8_t, 16> cookie;
  std::uint32_t layout;
  std::uint32_t world_size;
  std::uint64_t slot_bytes;
};
constexpr std::uint32_t kLayout = 1;

std::size_t slots_offset(int world_size) {
  const std::size_t bytes = sizeof(RankArea) * (1 + static_cast<std::size_t>(world_size));
  static_assert(sizeof(Header) <= sizeof(RankArea));
  return (bytes + kPage - 1) / kPage * kPage;
}

std::size_t segment_bytes(int world_size, std::size_t slot_bytes) {
  return slots_offset(world_size) + 2 * slot_bytes * static_cast<std::size_t>(world_size);
}

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// Returns true if this process may make a file of this size. If it may not, posix_fallocate() would
// kill it with SIGXFSZ.
bool is_file_size_allowed(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

std::string random_name(std::array<std::uint8_t, 16>& cookie) {
  check(getrandom(cookie.data(), cookie.size(), 0) == static_cast<ssize_t>(cookie.size()),
        "getrandom");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = kNamePrefix;
  for (const std::uint8_t byte : cookie) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

// Describes a lock on the byte of the segment that has the rank's number as its offset.
struct flock lock_of(int rank) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

Header& header_of(std::byte* memory) { return *reinterpret_cast<Header*>(memory); }

// Reads and checks the header. Throws std::runtime_error if `fd` is not a segment of this layout,
// or if it can still shrink, because reading it could then be a SIGBUS.
Header read_header(int fd, int world_size) {
  Header header{};
  struct stat stat {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &stat) != 0 ||
      pread(fd, &header, sizeof header, 0) != sizeof header || header.layout != kLayout ||
      header.world_size != static_cast<std::uint32_t>(world_size) ||
      header.slot_bytes > (std::size_t{1} << 40) ||
      static_cast<std::size_t>(stat.st_size) != segment_bytes(world_size, header.slot_bytes)) {
    throw std::runtime_error("the shared memory was made by another version of accel");
  }
  return header;
}

}  // namespace

SharedMemorySegment::SharedMemorySegment(common::UniqueFd fd, std::string name, int rank,
                                         int world_size, std::size_t slot_bytes)
    : fd_(std::move(fd)),
      name_(std::move(name)),
      rank_(rank),
      world_size_(world_size),
      slot_bytes_(slot_bytes) {
  void* memory = mmap(nullptr, segment_bytes(world_size, slot_bytes), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd_.get(), 0);
  check(memory != MAP_FAILED, "mmap");
  memory_ = static_cast<std::byte*>(memory);
}

SharedMemorySegment::~SharedMemorySegment() {
  munmap(memory_, segment_bytes(world_size_, slot_bytes_));
}

std::unique_ptr<SharedMemorySegment> SharedMemorySegment::create(int world_size,
                                                                 std::size_t slot_bytes) {
  Header header{.cookie = {},
                .layout = kLayout,
                .world_size = static_cast<std::uint32_t>(world_size),
                .slot_bytes = slot_bytes};
  const std::string name = random_name(header.cookie);
  common::UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  check(fd.valid(), "memfd_create");
  errno = EFBIG;
  check(is_file_size_allowed(segment_bytes(world_size, slot_bytes)), "the file size limit");
  // Allocates all pages now, because a page that is missing later would be a SIGBUS.
  errno = posix_fallocate(fd.get(), 0, static_cast<off_t>(segment_bytes(world_size, slot_bytes)));
  check(errno == 0, "posix_fallocate");
  check(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0,
        "cannot seal the shared memory");
  std::unique_ptr<SharedMemorySegment> segment(
      new SharedMemorySegment(std::move(fd), name, 0, world_size, slot_bytes));
  header_of(segment->memory_) = header;
  for (int rank = 0; rank < world_size; ++rank) new (&segment->area(rank)) RankArea{};
  segment->take_lock();
  return segment;
}

std::string SharedMemorySegment::address() const {
  return std::to_string(getpid()) + ' ' + std::to_string(fd_.get()) + ' ' + name_;
}

std::unique_ptr<SharedMemorySegment> SharedMemorySegment::attach(const std::string& address,
                                                                 int rank, int world_size) {
  int pid = 0, number = 0;
  std::string name;
  if (!(std::istringstream(address) >> pid >> number >> name) || !name.starts_with(kNamePrefix)) {
    throw std::runtime_error("malformed address of shared memory: " + address);
  }
  // The file is opened only if it has the random name. In another pid namespace, `pid` can be any
  // other process, and `number` any of its files.
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
  std::error_code error;
  const std::filesystem::path found = std::filesystem::read_symlink(path, error);
  if (error) throw std::system_error(error, path);
  if (found != "/memfd:" + name + " (deleted)") {
    throw std::runtime_error(path +
                             " is a different file here (is this rank in another pid namespace?)");
  }
  common::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  check(fd.valid(), path.c_str());
  const Header header = read_header(fd.get(), world_size);
  std::unique_ptr<SharedMemorySegment> segment(
      new SharedMemorySegment(std::move(fd), name, rank, world_size, header.slot_bytes));
  segment->take_lock();
  return segment;
}

// Takes a record lock. The process holds it, not the descriptor's open file, so a forked child does
// not keep it. The kernel releases it when the process ends or closes the descriptor.
void SharedMemorySegment::take_lock() {
  struct flock lock = lock_of(rank_);
  check(fcntl(fd_.get(), F_SETLK, &lock) == 0, "cannot lock the rank's byte of the shared memory");
  mine().proof = header_of(memory_).cookie;
}

RankArea& SharedMemorySegment::area(int rank) const {
  return reinterpret_cast<RankArea*>(memory_)[1 + rank];
}

std::byte* SharedMemorySegment::slot(int rank, int which) const {
  return memory_ + slots_offset(world_size_) +
         (2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(which)) * slot_bytes_;
}

bool SharedMemorySegment::is_alive(int rank) const {
  if (rank == rank_) return true;
  struct flock lock = lock_of(rank);
  return fcntl(fd_.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool SharedMemorySegment::has_mapped(int rank) const {
  return area(rank).proof == header_of(memory_).cookie;
}

}  // namespace accel::runtime
