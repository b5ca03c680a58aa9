// Compares the shared-memory backend with Gloo itself, in the same processes and on
// the same tensors.
#include "runtime/comm/shared_memory_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/comm/communicator.h"
#include "runtime/comm/cpu_backend.h"
#include "runtime/process/read_environment.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using c10d::ReduceOp;
using testing::HasSubstr;
using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

constexpr std::chrono::milliseconds kTimeout(30000);

// Both kinds of backend over one store. Each has a separate prefix, because the shared-memory
// backend makes a Gloo backend as well, and two Gloo backends that found each other's addresses
// would wait forever.
struct Backends {
  Backends() {
    environment = read_environment();
    c10d::TCPStoreOptions options;
    options.port = environment.master_port;
    store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options);
    shared = make_cpu_backend(keys("shared"), environment, kTimeout);
    EXPECT_EQ(shared->getBackendName(), "shared_memory");
    gloo = make_gloo_backend(keys("gloo"), environment, kTimeout);
  }
  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }
  c10::intrusive_ptr<c10d::Store> keys(const std::string& prefix) const {
    return c10::make_intrusive<c10d::PrefixStore>(prefix, store);
  }

  Environment environment;
  c10::intrusive_ptr<c10d::Store> store;
  BackendPtr shared, gloo;
};

// Returns a tensor that differs between ranks. Its magnitudes differ so much that the order of
// additions affects the sum.
at::Tensor random_tensor(std::int64_t elements, at::ScalarType dtype) {
  if (!at::isFloatingType(dtype)) {
    return at::randint(0, dtype == at::kBool ? 2 : 100, {elements}, at::kLong).to(dtype);
  }
  return (at::randn({elements}, at::kDouble) * at::exp(4 * at::randn({elements}, at::kDouble)))
      .to(dtype);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  return left.nbytes() == right.nbytes() &&
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

void all_reduce(c10d::Backend& backend, const at::Tensor& tensor, ReduceOp::RedOpType operation) {
  std::vector<at::Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = operation;
  backend.allreduce(tensors, options)->wait();
}

void expect_equal_reduction(const Backends& backends, at::Tensor tensor,
                            ReduceOp::RedOpType operation) {
  at::Tensor other = tensor.clone();
  all_reduce(*backends.shared, tensor, operation);
  all_reduce(*backends.gloo, other, operation);
  EXPECT_TRUE(same_bits(tensor, other))
      << tensor.numel() << " elements of " << tensor.dtype() << ", operation "
      << static_cast<int>(operation) << ", rank " << backends.rank() << " of " << backends.size();
}

// Returns sizes around the borders of Gloo's segments, of its chunks, and of the slots' pieces.
std::vector<std::int64_t> interesting_sizes(std::int64_t ranks) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t around :
       {std::int64_t{2}, ranks, 2 * ranks, 3 * ranks, std::int64_t{1000}, std::int64_t{32768},
        std::int64_t{262144}, 262144 / ranks * 2, 524288 * ranks}) {
    for (std::int64_t size = around - 1; size <= around + 1; ++size) sizes.push_back(size);
  }
  sizes.push_back(1'500'003);
  return sizes;
}

TEST(SharedMemoryBackendTest, FloatSumsOfAnySizeEqualGloos) {
  for (const int ranks : {2, 3, 4, 5, 8}) {
    on_ranks(ranks, [] {
      const Backends backends;
      at::manual_seed(static_cast<std::uint64_t>(backends.rank()));
      for (const std::int64_t size : interesting_sizes(backends.size())) {
        expect_equal_reduction(backends, random_tensor(size, at::kFloat), ReduceOp::SUM);
      }
    });
  }
}

TEST(SharedMemoryBackendTest, EveryTypeAndOperationEqualsGloos) {
  for (const int ranks : {2, 3, 5}) {
    on_ranks(ranks, [] {
      const Backends backends;
      at::manual_seed(static_cast<std::uint64_t>(backends.rank()));
      for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kChar,
                               at::kByte, at::kBool, at::kInt, at::kLong}) {
        for (const auto operation : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MIN, ReduceOp::MAX}) {
          if (operation == ReduceOp::AVG && !at::isFloatingType(dtype)) continue;
          // Gloo's sums of bools are not bools.
          if (operation == ReduceOp::SUM && dtype == at::kBool) continue;
          for (const std::int64_t size : {1, 37, 40000, 150'001}) {
            expect_equal_reduction(backends, random_tensor(size, dtype), operation);
          }
        }
      }
    });
  }
}

TEST(SharedMemoryBackendTest, TheSumOfBoolsIsTrueIfAnyIs) {
  const auto sum = [] {
    const auto communicator = Communicator::join(read_environment(), at::kCPU, kTimeout);
    at::Tensor mask = at::tensor({1, communicator->rank(), 0}, at::kInt).to(at::kBool);
    communicator->all_reduce_sum(mask);
    EXPECT_TRUE(at::equal(mask.view(at::kByte), at::tensor({1, 1, 0}, at::kByte))) << mask;
  };
  on_ranks(3, sum);
  on_ranks(3, sum, {{"ACCEL_SHARED_MEMORY", "0"}});
  on_ranks(3, [] {
    const Backends backends;
    at::Tensor mask = at::full({1}, true, at::kBool);
    all_reduce(*backends.shared, mask, ReduceOp::SUM);
    EXPECT_EQ(mask.view(at::kByte).item<int>(), 1);
  });
}

TEST(SharedMemoryBackendTest, SpecialValuesEqualGloos) {
  on_ranks(3, [] {
    const Backends backends;
    const bool first = backends.rank() == 0, last = backends.rank() == 2;
    for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      at::Tensor tensor = at::zeros({30}, at::kDouble);
      tensor[0] = first ? INFINITY : 1.0;
      tensor[1] = first ? INFINITY : -INFINITY;
      tensor[2] = last ? NAN : 1.0;
      tensor[3] = -0.0;
      tensor[4] = first ? -0.0 : 0.0;
      tensor[5] = 60000.0;  // The sum overflows half precision.
      tensor[6] = 1e-7 * backends.rank();
      tensor.slice(0, 10, 20) = tensor.slice(0, 0, 10);
      tensor.slice(0, 20, 30) = tensor.slice(0, 0, 10);
      for (const auto operation : {ReduceOp::SUM, ReduceOp::MIN, ReduceOp::MAX}) {
        expect_equal_reduction(backends, tensor.to(dtype), operation);
      }
    }
  });
}

TEST(SharedMemoryBackendTest, CopiesOfAnyLayout) {
  on_ranks(3, [] {
    const Backends backends;
    const auto columns = [&] {
      return (at::arange(12, at::kFloat) + 100 * backends.rank()).reshape({3, 4}).t();
    };
    const at::Tensor mine = columns();
    ASSERT_FALSE(mine.is_contiguous());

    std::vector<at::Tensor> tensors{columns()};
    c10d::BroadcastOptions from_last;
    from_last.rootRank = 2;
    backends.shared->broadcast(tensors, from_last)->wait();
    EXPECT_TRUE(at::equal(tensors[0], mine + 100 * (2 - backends.rank())));

    std::vector<at::Tensor> inputs{mine};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int i = 0; i < 3; ++i) outputs[0].push_back(columns());
    backends.shared->allgather(outputs, inputs)->wait();
    at::Tensor all = at::empty({3, 4, 3});
    at::Tensor dense = mine.contiguous();
    backends.shared->_allgather_base(all, dense)->wait();
    for (int rank = 0; rank < 3; ++rank) {
      const at::Tensor theirs = mine + 100 * (rank - backends.rank());
      EXPECT_TRUE(at::equal(outputs[0][static_cast<std::size_t>(rank)], theirs));
      EXPECT_TRUE(at::equal(all[rank], theirs));
    }

    std::vector<std::vector<at::Tensor>> parts;
    if (backends.rank() == 0) parts.push_back({mine, mine + 1, mine + 2});
    backends.shared->scatter(tensors, parts)->wait();
    EXPECT_TRUE(at::equal(tensors[0], mine - 100 * backends.rank() + backends.rank()));
    backends.shared->barrier()->wait();
  });
}

TEST(SharedMemoryBackendTest, OtherCallsGoToGloo) {
  on_ranks(2, [] {
    const Backends backends;
    at::Tensor product = at::full({3}, 2.0 + backends.rank());
    all_reduce(*backends.shared, product, ReduceOp::PRODUCT);
    EXPECT_TRUE(at::equal(product, at::full({3}, 6.0)));
    std::vector<at::Tensor> message{at::full({2}, 7.0)};
    if (backends.rank() == 0) {
      backends.shared->send(message, 1, 5)->wait();
    } else {
      message[0].zero_();
      backends.shared->recv(message, 0, 5)->wait();
      EXPECT_TRUE(at::equal(message[0], at::full({2}, 7.0)));
    }
  });
}

TEST(SharedMemoryBackendTest, AFailureIsInTheWorkAndItsFuture) {
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
TEST(SharedMemoryBackendTest, ALargeCallDoesNotBlockItsCaller) {
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

TEST(SharedMemoryBackendTest, ACallThatIsWaitedForAtOnceWaitsForThoseBeforeIt) {
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
TEST(SharedMemoryBackendTest, TheThreadRunsInTheCallersAutogradMode) {
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

TEST(SharedMemoryBackendTest, AFailedLargeCallFailsItsFutureAndLaterCalls) {
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
TEST(SharedMemoryBackendTest, ARankThatLeavesDoesNotWaitForItsCalls) {
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

TEST(SharedMemoryBackendTest, AllRanksOfAWorldChooseTheSameBackend) {
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
TEST(SharedMemoryBackendTest, AForkedChildEndsWithoutItsParentsWorld) {
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
