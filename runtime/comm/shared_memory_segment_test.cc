#include "runtime/comm/shared_memory_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <system_error>

namespace accel::runtime {
namespace {

constexpr std::size_t kSlot = 8192;

// A forked process that runs `body` and then waits to be killed.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char good = body() ? 1 : 0;
      if (write(ready[1], &good, 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char good = 0;
    EXPECT_EQ(read(ready[0], &good, 1), 1);
    EXPECT_EQ(good, 1);
    close(ready[0]);
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

std::unique_ptr<SharedMemorySegment> try_attach(const std::string& address, int rank, int ranks) {
  try {
    return SharedMemorySegment::attach(address, rank, ranks);
  } catch (const std::exception&) {
    return nullptr;
  }
}

TEST(SharedMemorySegmentTest, APeerWritesWhatThisProcessReads) {
  const auto segment = SharedMemorySegment::create(3, kSlot);
  const std::string address = segment->address();
  EXPECT_FALSE(segment->has_mapped(2));
  Child peer([&] {
    const auto mine = try_attach(address, 2, 3).release();
    if (mine == nullptr || mine->slot_bytes() != kSlot) return false;
    std::memset(mine->slot(2, 0), 1, kSlot);
    std::memset(mine->slot(2, 1), 2, kSlot);
    mine->mine().calls[1].bytes = 77;
    return true;
  });
  EXPECT_TRUE(segment->has_mapped(2));
  EXPECT_FALSE(segment->has_mapped(1));
  EXPECT_EQ(segment->area(2).calls[1].bytes, 77u);
  // The slots of neighbours are adjacent, and do not overlap.
  EXPECT_EQ(segment->slot(1, 1)[kSlot - 1], std::byte{0});
  EXPECT_EQ(segment->slot(2, 0)[0], std::byte{1});
  EXPECT_EQ(segment->slot(2, 0)[kSlot - 1], std::byte{1});
  EXPECT_EQ(segment->slot(2, 1)[0], std::byte{2});
  EXPECT_EQ(segment->slot(2, 1)[kSlot - 1], std::byte{2});
}

TEST(SharedMemorySegmentTest, AKilledProcessLosesItsLock) {
  const auto segment = SharedMemorySegment::create(2, kSlot);
  const std::string address = segment->address();
  EXPECT_FALSE(segment->is_alive(1));
  Child peer([&] { return try_attach(address, 1, 2).release() != nullptr; });
  EXPECT_TRUE(segment->is_alive(1));
  // A child of this process inherits its descriptor. Neither its life nor its end
  // affects the locks.
  Child bystander([] { return true; });
  peer.end();
  EXPECT_FALSE(segment->is_alive(1));
}

TEST(SharedMemorySegmentTest, ALockIsTakenOnce) {
  const auto segment = SharedMemorySegment::create(2, kSlot);
  const std::string address = segment->address();
  Child first([&] { return try_attach(address, 1, 2).release() != nullptr; });
  Child second([&] { return try_attach(address, 1, 2) == nullptr; });
}

TEST(SharedMemorySegmentTest, RefusesWhatIsNotTheSegment) {
  const auto segment = SharedMemorySegment::create(2, kSlot);
  const std::string pid = std::to_string(getpid());
  const std::string address = segment->address();
  const std::string name = address.substr(address.rfind(' ') + 1);
  // Another file under the same pid and number, as a rank in another pid namespace would find.
  EXPECT_THROW(SharedMemorySegment::attach(pid + " 0 " + name, 1, 2), std::runtime_error);
  EXPECT_THROW(SharedMemorySegment::attach(pid + " 9999 " + name, 1, 2), std::system_error);
  EXPECT_THROW(SharedMemorySegment::attach("0 0 " + name, 1, 2), std::system_error);
  EXPECT_THROW(SharedMemorySegment::attach("", 1, 2), std::runtime_error);
  EXPECT_THROW(SharedMemorySegment::attach(pid + " 0 /etc/passwd", 1, 2), std::runtime_error);
  // A segment for another world size.
  EXPECT_THROW(SharedMemorySegment::attach(address, 1, 3), std::runtime_error);
  // A file that is not sealed: its owner could truncate it while a peer reads it.
  const int forged = memfd_create("accel-0", MFD_CLOEXEC);
  EXPECT_THROW(SharedMemorySegment::attach(pid + ' ' + std::to_string(forged) + " accel-0", 1, 2),
               std::runtime_error);
  close(forged);
}

TEST(SharedMemorySegmentTest, AFileSizeLimitIsAnErrorAndNotASignal) {
  Child limited([] {
    const rlimit limit{.rlim_cur = kSlot, .rlim_max = kSlot};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      SharedMemorySegment::create(2, kSlot);
    } catch (const std::system_error& error) {
      return error.code() == std::errc::file_too_large;
    }
    return false;
  });
}

}  // namespace
}  // namespace accel::runtime
