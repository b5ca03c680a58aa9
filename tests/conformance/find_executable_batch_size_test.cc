// Runs every case of find_executable_batch_size.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accel/batch_size_search.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;

BatchSizeOptions options_of(const json& params) {
  BatchSizeOptions options;
  if (!params["starting_batch_size"].is_null()) {
    options.starting_batch_size = params["starting_batch_size"];
  }
  if (params["reduce"] == "half") options.reduce_batch_size = [](auto size) { return size / 2; };
  if (params["reduce"] == "minus_7") {
    options.reduce_batch_size = [](auto size) { return std::max<std::int64_t>(0, size - 7); };
  }
  return options;
}

void expect_same_search(const json& one) {
  const json& params = one["params"];
  std::vector<std::int64_t> tried;
  auto search = find_executable_batch_size(
      [&](std::int64_t batch_size) {
        tried.push_back(batch_size);
        if (batch_size > params["fits_at"]) {
          throw std::runtime_error("CUDA out of memory. Tried to allocate");
        }
        return batch_size;
      },
      options_of(params));
  for (const json& result : one["expected"]["results"]) {
    if (result.contains("error")) {
      try {
        search();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), result["error"].get<std::string>());
      }
    } else {
      EXPECT_EQ(search(), result["returned"].get<std::int64_t>());
    }
  }
  EXPECT_EQ(tried, one["expected"]["tried"].get<std::vector<std::int64_t>>());
}

struct NoMemory : std::bad_alloc {
  explicit NoMemory(std::string message) : text(std::move(message)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

// Python's ValueError corresponds to std::invalid_argument, and MemoryError to std::bad_alloc.
void expect_same_recognition(const json& one) {
  const std::string type = one["params"]["exception_type"], text = one["params"]["message"];
  const bool retried = one["expected"]["retried"];
  if (type == "ValueError") {
    EXPECT_EQ(should_reduce_batch_size(std::invalid_argument(text)), retried);
  } else if (type == "MemoryError") {
    EXPECT_EQ(should_reduce_batch_size(NoMemory(text)), retried);
  } else {
    EXPECT_EQ(should_reduce_batch_size(std::runtime_error(text)), retried);
  }
}

TEST(FindExecutableBatchSizeConformance, EveryCase) {
  for (const json& one : golden_cases("find_executable_batch_size.json")) {
    SCOPED_TRACE(one.dump());
    if (one["params"].contains("message")) {
      expect_same_recognition(one);
    } else {
      expect_same_search(one);
    }
  }
}

TEST(FindExecutableBatchSize, OtherErrorsPassAndAReductionReduces) {
  auto failing = find_executable_batch_size([](std::int64_t) { throw std::out_of_range("x"); });
  EXPECT_THROW(failing(), std::out_of_range);
  auto stuck = find_executable_batch_size(
      [](std::int64_t) { throw std::runtime_error("CUDA out of memory."); },
      {.starting_batch_size = 4, .reduce_batch_size = [](auto size) { return size; }});
  EXPECT_THROW(stuck(), std::logic_error);
}

}  // namespace
}  // namespace accel
