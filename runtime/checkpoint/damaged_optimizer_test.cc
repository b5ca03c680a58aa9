// Archives of optimizers that are damaged, or that say what their records do not hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/load_optimizer.h"
#include "runtime/checkpoint/optimizer_moments.h"
#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::filesystem::path file() { return std::filesystem::path(testing::TempDir()) / "damaged.bin"; }

void save(const optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  archive.save_to(file().string());
}

void load(optim::Optimizer& optimizer, const HeldElements& held) {
  load_optimizer(file(), c10::kCPU, optimizer, held);
}

std::string bytes_of_file() {
  std::ifstream stream(file(), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

optim::SGD momentum_of(std::vector<torch::Tensor> parameters) {
  return optim::SGD(std::move(parameters), optim::SGDOptions(0.1).momentum(0.9));
}

// Saves a momentum of `size` elements that `change` has been applied to, and returns the error of
// loading 10 of its elements from `begin` on.
std::string error_of_changed(std::int64_t size, std::int64_t begin,
                             const std::function<void(torch::Tensor&)>& change) {
  const torch::Tensor parameter = torch::ones({size / 16, 4, 2, 2}).requires_grad_();
  parameter.mutable_grad() = torch::ones_like(parameter);
  optim::SGD saved = momentum_of({parameter});
  saved.step();
  change(*known_moments_of(*saved.state().begin()->second)[0]);
  save(saved);
  optim::SGD loaded = momentum_of({parameter});
  return error_of<CheckpointError>([&] {
    load(loaded, {{parameter.unsafeGetTensorImpl(), {begin, begin + 10}}});
  });
}

// Large ones are read by us, and small ones by LibTorch.
TEST(DamagedOptimizer, AMomentThatReachesOutOfItsRecordIsRefused) {
  constexpr std::int64_t kSmall = 1'600, kLarge = 160'000;
  for (const std::int64_t size : {kSmall, kLarge}) {
    const auto bytes = [&](std::int64_t elements) {
      return std::to_string(4 * elements) + " bytes";
    };
    const auto expect_refused = [&](std::int64_t wanted, std::int64_t begin, const auto& change) {
      EXPECT_THAT(error_of_changed(size, begin, change),
                  AllOf(HasSubstr(file().string()), HasSubstr("data/"), HasSubstr(bytes(wanted)),
                        HasSubstr(bytes(size / 2))))
          << size;
    };
    const auto shrink = [&](torch::Tensor& moment) {
      moment.storage().unsafeGetStorageImpl()->set_nbytes(static_cast<std::size_t>(size / 2 * 4));
    };
    for (const std::int64_t begin : {std::int64_t{0}, size - 10}) {
      expect_refused(size, begin, shrink);
      expect_refused(size, begin, [&](torch::Tensor& moment) {
        moment = moment.to(torch::MemoryFormat::ChannelsLast);
        shrink(moment);
      });
    }
    expect_refused(size / 2 + 7, 0, [&](torch::Tensor& moment) {
      moment.unsafeGetTensorImpl()->set_storage_offset(7);
      moment.unsafeGetTensorImpl()->set_sizes_contiguous({size / 2});
      shrink(moment);
    });
    const auto with_offset = [&](std::int64_t offset) {
      return error_of_changed(size, 0, [offset](torch::Tensor& moment) {
        moment.unsafeGetTensorImpl()->set_storage_offset(offset);
      });
    };
    EXPECT_THAT(with_offset(-1), HasSubstr("before the start"));
    EXPECT_THAT(with_offset(std::numeric_limits<std::int64_t>::max() - 5), HasSubstr("data/"));
    EXPECT_EQ(with_offset(0), "nothing was thrown");
  }
}

// The archive says that tensors and their memory are larger than the record.
TEST(DamagedOptimizer, ARecordThatIsSmallerThanTheArchiveSaysIsRefused) {
  const std::pair<std::string, std::string> sizes[] = {{"M\x39\x30", "M\x39\x31"},
                                                       {"J\x40\xe2\x01", "J\x40\xe3\x01"}};
  for (const auto& [from, to] : sizes) {
    const std::int64_t size = from[0] == 'M' ? 12'345 : 123'456;
    const torch::Tensor parameter = torch::ones({size}).requires_grad_();
    parameter.mutable_grad() = torch::ones_like(parameter);
    optim::SGD saved = momentum_of({parameter}), loaded = momentum_of({parameter});
    saved.step();
    save(saved);
    std::string bytes = bytes_of_file();
    ASSERT_NE(bytes.find(from), std::string::npos);
    for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos;) {
      bytes.replace(at, from.size(), to);
    }
    std::ofstream(file(), std::ios::binary) << bytes;
    const HeldElements held = {{parameter.unsafeGetTensorImpl(), {size - 10, size}}};
    EXPECT_THAT(error_of<CheckpointError>([&] { load(loaded, held); }),
                HasSubstr("the record has " + std::to_string(4 * size) + " bytes"));
  }
}

// Loads archives with these bytes both lazily and not. Each must be refused with the name of the
// file, or be loaded. Returns how many were refused.
int refusals(const std::string& bytes, const std::string& what) {
  std::ofstream(file(), std::ios::binary) << bytes;
  int refused = 0;
  const torch::Tensor parameter = torch::ones({20'000}).requires_grad_();
  for (const bool is_lazy : {true, false}) {
    optim::SGD loaded = momentum_of({parameter});
    HeldElements held;
    if (is_lazy) held[parameter.unsafeGetTensorImpl()] = {7, 15'000};
    try {
      load(loaded, held);
    } catch (const CheckpointError& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr(file().string())) << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << c10::demangle(typeid(error).name()) << ": " << error.what();
    }
  }
  return refused;
}

TEST(DamagedOptimizer, ADamagedArchiveIsRefusedOrLoaded) {
  constexpr std::size_t kStride = 29;
  const torch::Tensor parameter = torch::ones({20'000}).requires_grad_();
  parameter.mutable_grad() = torch::ones_like(parameter);
  optim::SGD saved = momentum_of({parameter});
  saved.step();
  save(saved);
  const std::string good = bytes_of_file();
  EXPECT_EQ(refusals(good, "undamaged"), 0);
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 16) {
    EXPECT_EQ(refusals(good.substr(0, size), "truncated to " + std::to_string(size)), 2);
  }
  // The tensor has most of the bytes, and each of them may be any number.
  const std::size_t data = good.find(std::string("\x00\x00\x80\x3f\x00\x00\x80\x3f", 8));
  ASSERT_NE(data, std::string::npos);
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); at += kStride) {
    if (at >= data && at < data + parameter.nbytes()) at = data + parameter.nbytes();
    for (const int bits : {0x01, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ bits);
      refused += refusals(bytes, "byte " + std::to_string(at) + " ^ " + std::to_string(bits));
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace accel::runtime
