// Compares the shared-memory backend with Gloo itself, in the same processes and on
// the same tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/comm/backends_fixture.h"
#include "runtime/comm/communicator.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using c10d::ReduceOp;

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
      const std::vector<std::int64_t> sizes = interesting_sizes(backends.size());
      // Drawn once, because the random numbers take longer than their sum.
      const at::Tensor numbers = random_tensor(*std::ranges::max_element(sizes), at::kFloat);
      for (const std::int64_t size : sizes) {
        expect_equal_reduction(backends, numbers.narrow(0, 0, size).clone(), ReduceOp::SUM);
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

// The parts of an all-reduce. Integers, because the order of additions is another one.
TEST(SharedMemoryBackendTest, AReduceScatterGivesEachRankItsPart) {
  on_ranks(3, [] {
    const Backends backends;
    at::manual_seed(static_cast<std::uint64_t>(backends.rank()));
    for (const auto operation : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MAX}) {
      for (const std::int64_t rows : {1, 1000, 300'000}) {
        at::Tensor input = at::randint(0, 99, {3 * rows, 2}, at::kFloat), whole = input.clone();
        all_reduce(*backends.shared, whole, operation);
        at::Tensor part = at::empty({rows, 2});
        c10d::ReduceScatterOptions options;
        options.reduceOp = operation;
        backends.shared->_reduce_scatter_base(part, input, options)->wait();
        EXPECT_TRUE(at::equal(part, whole.narrow(0, backends.rank() * rows, rows))) << rows;
      }
    }
  });
}

at::Tensor reduce_scatter(c10d::Backend& backend, at::Tensor input, ReduceOp::RedOpType operation) {
  at::Tensor part = at::empty({input.numel() / backend.getSize()}, input.options());
  c10d::ReduceScatterOptions options;
  options.reduceOp = operation;
  backend._reduce_scatter_base(part, input, options)->wait();
  return part;
}

TEST(SharedMemoryBackendTest, AReduceScatterOverSocketsHasTheSameBits) {
  for (const int ranks : {2, 3, 4, 5}) {
    on_ranks(ranks, [] {
      const Backends backends;
      at::manual_seed(static_cast<std::uint64_t>(backends.rank()));
      for (const auto dtype : {at::kFloat, at::kBFloat16, at::kLong}) {
        for (const auto operation : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MAX}) {
          if (operation == ReduceOp::AVG && dtype == at::kLong) continue;
          for (const std::int64_t size : {1, 1000, 150'001}) {
            const at::Tensor input = random_tensor(size * backends.size(), dtype);
            const at::Tensor before = input.clone();
            EXPECT_TRUE(same_bits(reduce_scatter(*backends.gloo, input, operation),
                                  reduce_scatter(*backends.shared, input, operation)))
                << size << " elements of " << dtype << " for each of " << backends.size();
            EXPECT_TRUE(same_bits(input, before)) << "the input has changed";
          }
        }
      }
      // Inputs that are not one piece of memory.
      const at::Tensor matrix = random_tensor(6 * backends.size(), at::kFloat).view({6, -1}).t();
      EXPECT_TRUE(same_bits(reduce_scatter(*backends.gloo, matrix, ReduceOp::SUM),
                            reduce_scatter(*backends.shared, matrix, ReduceOp::SUM)));
    });
  }
}

TEST(SharedMemoryBackendTest, AReduceScatterOverSocketsNamesALostPeer) {
  on_ranks(2, [] {
    Backends backends;
    backends.gloo =
        make_gloo_backend(backends.keys("short"), backends.environment, std::chrono::seconds(20));
    if (backends.rank() == 0) return;  // Rank 0 never takes part.
    EXPECT_ANY_THROW(reduce_scatter(*backends.gloo, at::ones({8}), ReduceOp::SUM));
  });
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

}  // namespace
}  // namespace accel::runtime
