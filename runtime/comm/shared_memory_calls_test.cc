// How the calls of the shared-memory backend are queued, run and fail, and how its world ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/backends_fixture.h"
#include "runtime/comm/communicator.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using c10d::ReduceOp;
using testing::HasSubstr;

TEST(SharedMemoryCallsTest, AFailureIsInTheWorkAndItsFuture) {
  on_ranks(2, [] {
    const Backends backends;
    backends.shared->barrier()->wait();
    if (backends.rank() == 1) return;
    std::vector<at::Tensor> tensors{at::ones({5})};
    const auto work = backends.shared->allreduce(tensors);
    EXPECT_THROW(work->wait(), CommunicationError);
    EXPECT_TRUE(work->isCompleted());
    EXPECT_FALSE(work->isSuccess());
    work->getFuture()->wait();
    try {
      work->getFuture()->value();
      ADD_FAILURE() << "the future has a value";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("all_reduce of 20 bytes (call 2): rank 1 "));
    }
  });
}

// Rank 0 sets the key for which rank 1 waits after it has begun a call that needs rank 1.
TEST(SharedMemoryCallsTest, ALargeCallDoesNotBlockItsCaller) {
  on_ranks(2, [] {
    const Backends backends;
    std::vector<at::Tensor> large{at::ones({1 << 20})}, small{at::full({3}, 2.0)};
    if (backends.rank() == 1) backends.store->wait({"rank 0 goes on"});
    const auto first = backends.shared->allreduce(large);
    const auto second = backends.shared->allreduce(small);  // Must not overtake the first.
    if (backends.rank() == 0) {
      EXPECT_FALSE(first->isCompleted());
      EXPECT_FALSE(second->isCompleted());
      backends.store->set("rank 0 goes on", "");
    }
    second->wait();
    first->getFuture()->wait();
    EXPECT_TRUE(at::equal(large[0], at::full({1 << 20}, 2.0)));
    EXPECT_TRUE(at::equal(small[0], at::full({3}, 4.0)));
  });
}

TEST(SharedMemoryCallsTest, ACallThatIsWaitedForAtOnceWaitsForThoseBeforeIt) {
  on_ranks(2, [] {
    const Backends backends;
    std::vector<at::Tensor> large{at::full({1 << 20}, 1.0 + backends.rank())};
    backends.shared->allreduce(large);
    std::vector<at::Tensor> half{large[0].slice(0, 0, 1 << 19)};
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    backends.shared->allreduce(half, options)->wait();
    EXPECT_TRUE(at::equal(half[0], at::full({1 << 19}, 6.0)));
  });
}

// The division of a mean is an in-place operation on a parameter, which autograd must not record.
TEST(SharedMemoryCallsTest, TheThreadRunsInTheCallersAutogradMode) {
  on_ranks(2, [] {
    const Backends backends;
    const at::NoGradGuard no_graph;
    std::vector<at::Tensor> mean{at::full({1 << 20}, 1.0 + backends.rank())};
    mean[0].requires_grad_();
    c10d::AllreduceOptions options;
    options.reduceOp = ReduceOp::AVG;
    const auto work = backends.shared->allreduce(mean, options);
    bool records = true;
    const auto after = work->getFuture()->then(
        [&](c10::ivalue::Future&) {
          records = at::GradMode::is_enabled();
          return c10::IValue();
        },
        c10::NoneType::get());
    after->wait();
    work->wait();
    EXPECT_FALSE(records);
    EXPECT_TRUE(at::equal(mean[0], at::full({1 << 20}, 1.5)));
  });
}

TEST(SharedMemoryCallsTest, AFailedLargeCallFailsItsFutureAndLaterCalls) {
  on_ranks(2, [] {
    const Backends backends;
    backends.shared->barrier()->wait();
    if (backends.rank() == 1) return;
    std::vector<at::Tensor> large{at::ones({1 << 20})};
    const auto first = backends.shared->allreduce(large),
               second = backends.shared->allreduce(large);
    EXPECT_THROW(second->wait(), CommunicationError);
    EXPECT_FALSE(first->isSuccess());
    first->getFuture()->wait();
    EXPECT_TRUE(first->getFuture()->hasError());
  });
}

// Rank 0 leaves with an unfinished call in which rank 1 does not take part before rank 0 has left.
TEST(SharedMemoryCallsTest, ARankThatLeavesDoesNotWaitForItsCalls) {
  on_ranks(2, [] {
    std::vector<at::Tensor> large{at::ones({1 << 20})};
    auto backends = std::make_unique<Backends>();
    const auto store = backends->store;
    if (backends->rank() == 0) {
      const auto work = backends->shared->allreduce(large);
      backends->shared = nullptr;
      EXPECT_TRUE(work->isCompleted());
      EXPECT_THROW(work->wait(), CommunicationError);
      store->set("rank 0 has left", "");
      store->wait({"rank 1 has seen it"});
      return;
    }
    store->wait({"rank 0 has left"});
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    try {
      std::vector<at::Tensor> other{at::ones({1 << 21})};
      backends->shared->allreduce(other, options)->wait();
      backends->shared->barrier()->wait();
      ADD_FAILURE() << "rank 0 has taken part";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 0 "));
    }
    store->set("rank 1 has seen it", "");
  });
}

bool maps_a_segment() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find("/memfd:accel-") != std::string::npos;
}

TEST(SharedMemoryCallsTest, AllRanksOfAWorldChooseTheSameBackend) {
  const auto sum_in = [](bool shared) {
    const auto communicator = Communicator::join(read_environment(), at::kCPU, kTimeout);
    EXPECT_EQ(maps_a_segment(), shared);
    at::Tensor one = at::ones({1});
    communicator->all_reduce_sum(one);
    EXPECT_EQ(one.item<float>(), 2);
  };
  on_ranks(2, [&] { sum_in(true); });
  on_ranks(2, [&] { sum_in(false); }, {{"ACCEL_SHARED_MEMORY", "0"}});
  // It is enough if one rank disables shared memory.
  on_ranks(2, [&] {
    if (read_environment().rank == 1) setenv("ACCEL_SHARED_MEMORY", "0", 1);
    sum_in(false);
  });
}

// A program may fork, for example to start another program, and run destructors in the child.
TEST(SharedMemoryCallsTest, AForkedChildEndsWithoutItsParentsWorld) {
  on_ranks(2, [] {
    auto communicator = Communicator::join(read_environment(), at::kCPU, kTimeout);
    at::Tensor large = at::ones({1 << 20});
    communicator->broadcast({large});  // Starts the backend's thread.
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      communicator = nullptr;
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    communicator->all_reduce_sum(large);
    EXPECT_EQ(large[0].item<float>(), 2);
  });
}

}  // namespace
}  // namespace accel::runtime
