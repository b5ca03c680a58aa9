#include "runtime/comm/shared_memory_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace accel::runtime {
namespace {

using testing::HasSubstr;

// A store inside of this process. `change` may alter what a client reads.
class LocalStore {
 public:
  JoinStore client(std::function<std::string(std::string key, std::string value)> change = {}) {
    return {.set =
                [this](const std::string& key, const std::string& value) {
                  const std::lock_guard lock(mutex_);
                  values_[key] = value;
                  changed_.notify_all();
                },
            .get =
                [this, change](const std::string& key) {
                  std::unique_lock lock(mutex_);
                  if (!changed_.wait_for(lock, std::chrono::seconds(20),
                                         [&] { return values_.contains(key); })) {
                    throw std::runtime_error("no " + key);
                  }
                  return change ? change(key, values_[key]) : values_[key];
                }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

// Runs each rank on a thread. All map the same memory, although they share the locks
// of one process.
std::vector<Joined> join_all(std::vector<SharedMemoryOptions> ranks,
                             std::vector<JoinStore> stores) {
  std::vector<Joined> out(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      ranks[rank].rank = static_cast<int>(rank);
      ranks[rank].world_size = static_cast<int>(ranks.size());
      out[rank] = join_shared_memory(ranks[rank], stores[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return out;
}

int sharing(const std::vector<Joined>& joined) {
  int count = 0;
  for (const Joined& one : joined) count += one.segment != nullptr;
  return count;
}

TEST(SharedMemoryJoinTest, AllShareOneSegment) {
  LocalStore store;
  const auto joined =
      join_all(std::vector<SharedMemoryOptions>(4), std::vector<JoinStore>(4, store.client()));
  ASSERT_EQ(sharing(joined), 4);
  EXPECT_EQ(joined[0].obstacle, "");
  joined[3].segment->slot(3, 1)[5] = std::byte{42};
  for (const Joined& one : joined) EXPECT_EQ(one.segment->slot(3, 1)[5], std::byte{42});
}

TEST(SharedMemoryJoinTest, IfOneRankIsNotEnabledNoneSharesAndNoReasonIsGiven) {
  for (int unwilling = 0; unwilling < 3; ++unwilling) {
    LocalStore store;
    std::vector<SharedMemoryOptions> ranks(3);
    ranks[unwilling].enabled = false;
    const auto joined = join_all(ranks, std::vector<JoinStore>(3, store.client()));
    EXPECT_EQ(sharing(joined), 0);
    EXPECT_EQ(joined[0].obstacle, "");
  }
}

TEST(SharedMemoryJoinTest, IfOneRankIsOnAnotherHostNoneSharesAndNoReasonIsGiven) {
  LocalStore store;
  const auto elsewhere = store.client([](const std::string& key, std::string value) {
    if (key == "shared_memory/segment") value[0] = value[0] == '0' ? '1' : '0';
    return value;
  });
  const auto joined =
      join_all(std::vector<SharedMemoryOptions>(3), {store.client(), elsewhere, store.client()});
  EXPECT_EQ(sharing(joined), 0);
  EXPECT_EQ(joined[0].obstacle, "");
}

TEST(SharedMemoryJoinTest, ARankThatCannotMapTheSegmentIsNamed) {
  LocalStore store;
  // In another pid namespace the pid belongs to another process, or to none.
  const auto other_pid = store.client([](const std::string& key, std::string value) {
    if (key == "shared_memory/segment") {
      const std::size_t pid = value.find(' ') + 1;
      value.replace(pid, value.find(' ', pid) - pid, "999999999");
    }
    return value;
  });
  const auto joined =
      join_all(std::vector<SharedMemoryOptions>(3), {store.client(), store.client(), other_pid});
  EXPECT_EQ(sharing(joined), 0);
  EXPECT_THAT(joined[0].obstacle, HasSubstr("rank 2: /proc/999999999"));
}

// Rank 1 answers yes, but has mapped another segment.
TEST(SharedMemoryJoinTest, TheProofMustHaveArrived) {
  LocalStore store;
  const auto decoy = SharedMemorySegment::create(2, 1 << 20);
  const auto deceived = store.client([&](const std::string& key, std::string value) {
    if (key == "shared_memory/segment") {
      value = value.substr(0, value.find(' ') + 1) + decoy->address();
    }
    return value;
  });
  const auto joined = join_all(std::vector<SharedMemoryOptions>(2), {store.client(), deceived});
  EXPECT_EQ(sharing(joined), 0);
  EXPECT_EQ(joined[0].obstacle, "rank 1 has mapped other memory");
}

TEST(SharedMemoryJoinTest, IfRank0CannotAllocateMemoryNoneShares) {
  LocalStore store;
  const std::vector<SharedMemoryOptions> ranks(2);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto joined = join_all(ranks, std::vector<JoinStore>(2, store.client()));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(sharing(joined), 0);
  EXPECT_THAT(joined[0].obstacle, HasSubstr("rank 0: the file size limit"));
}

TEST(SharedMemoryJoinTest, AWorldThatIsTooLargeDoesNotTry) {
  LocalStore store;
  EXPECT_EQ(
      join_shared_memory({.rank = 1, .world_size = kMaxSharingRanks + 1}, store.client()).segment,
      nullptr);
}

}  // namespace
}  // namespace accel::runtime
