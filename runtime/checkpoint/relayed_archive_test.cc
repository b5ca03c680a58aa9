#include "runtime/checkpoint/relayed_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;

void write_archive(const std::vector<torch::Tensor>& tensors, const ByteSink& sink) {
  torch::serialize::OutputArchive archive;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    archive.write("number " + std::to_string(i), c10::IValue(static_cast<std::int64_t>(i)));
    archive.write("tensor " + std::to_string(i), tensors[i]);
  }
  archive.save_to([&](const void* data, std::size_t size) {
    sink({static_cast<const char*>(data), size});
    return size;
  });
}

std::vector<torch::Tensor> some_tensors() {
  torch::manual_seed(1);
  return {torch::randn({3, 500}), torch::randn({}), torch::zeros({4, 0}),
          torch::randn({7}, torch::kDouble), torch::randn({40, 50})};
}

// Writes an archive whose tensors are given in the order `order`.
std::string relayed(const std::vector<torch::Tensor>& tensors, const std::vector<int>& order) {
  RelayedTensors held(tensors);
  auto written = std::async(std::launch::async, [&] {
    const RelayCloser closer(held.relay());
    std::string bytes;
    held.write([&](const ByteSink& sink) { write_archive(held.tensors(), sink); },
               [&](std::string_view part) { bytes += part; });
    return bytes;
  });
  for (const int i : order) {
    const torch::Tensor& one = tensors[static_cast<std::size_t>(i)];
    held.relay().give({static_cast<const char*>(one.const_data_ptr()), one.nbytes()});
  }
  held.relay().end();
  return written.get();
}

TEST(RelayedArchiveTest, TheBytesAreThoseOfAnArchiveOfAllTensors) {
  const std::vector<torch::Tensor> tensors = some_tensors();
  std::string expected;
  write_archive(tensors, [&](std::string_view part) { expected += part; });
  EXPECT_TRUE(relayed(tensors, {0, 1, 3, 4}) == expected);
}

TEST(RelayedArchiveTest, AnotherOrderIsRefused) {
  const auto reversed = [] {
    const auto tensors = some_tensors();
    RelayedTensors held({tensors[0], tensors[4]});
    std::string bytes;
    auto giving = std::async(std::launch::async, [&] {
      held.relay().give(
          {static_cast<const char*>(tensors[0].const_data_ptr()), tensors[0].nbytes()});
    });
    const RelayCloser closer(held.relay());
    held.write(
        [&](const ByteSink& sink) {
          sink({static_cast<const char*>(held.tensors()[1].const_data_ptr()),
                held.tensors()[1].nbytes()});
        },
        [](std::string_view) {});
  };
  EXPECT_THAT(error_of(reversed), HasSubstr("another order"));
}

TEST(RelayedArchiveTest, AMissingTensorIsAnError) {
  RelayedTensors held({torch::ones({3})});
  held.relay().end();
  EXPECT_THAT(error_of([&] { held.write([](const ByteSink&) {}, [](std::string_view) {}); }),
              HasSubstr("was not given"));
}

}  // namespace
}  // namespace accel::runtime
