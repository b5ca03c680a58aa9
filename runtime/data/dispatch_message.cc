#include "runtime/data/dispatch_message.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/comm/tagged_size.h"

namespace accel::runtime {
namespace {

std::size_t read_size(std::int64_t number, const char* what) {
  if (const std::optional<std::size_t> size = untagged_size(number)) return *size;
  throw BadDispatchMessage(std::string("sent no ") + what);
}

// Returns true if the product of the numbers, none of which is negative, is at most `limit`.
bool product_is_at_most(std::int64_t limit, std::int64_t first,
                        const std::vector<std::int64_t>& others) {
  std::int64_t product = first;
  // With a zero the product is 0, although a part of it may exceed the limit.
  if (std::find(others.begin(), others.end(), 0) != others.end()) return true;
  for (const std::int64_t factor : others) {
    if (product > limit / factor) return false;
    product *= factor;
  }
  return product <= limit;
}

}  // namespace

std::vector<std::int64_t> numbers_of(const DispatchedStep& step) {
  return {tagged_size(static_cast<std::size_t>(step.kind)), tagged_size(step.samples.real_samples),
          tagged_size(step.samples.padded_samples), tagged_size(step.samples.seen_samples),
          tagged_size(step.layout_numbers)};
}

DispatchedStep read_step(const std::vector<std::int64_t>& numbers, std::size_t num_processes) {
  const std::size_t kind = read_size(numbers.at(0), "kind of a step");
  if (kind > static_cast<std::size_t>(DispatchedStep::Kind::kFailed)) {
    throw BadDispatchMessage("sent a step of the unknown kind " + std::to_string(kind));
  }
  const DispatchedStep step{
      .kind = static_cast<DispatchedStep::Kind>(kind),
      .samples = {.real_samples = read_size(numbers.at(1), "number of real samples"),
                  .padded_samples = read_size(numbers.at(2), "number of padded samples"),
                  .seen_samples = read_size(numbers.at(3), "number of seen samples")},
      .layout_numbers = read_size(numbers.at(4), "length of a layout")};
  const std::size_t padded = step.samples.padded_samples;
  if (step.samples.real_samples > padded) {
    throw BadDispatchMessage("sent a batch of " + std::to_string(padded) + " samples of which " +
                             std::to_string(step.samples.real_samples) + " are real");
  }
  if (padded % num_processes != 0) {
    throw BadDispatchMessage("sent a batch of " + std::to_string(padded) +
                             " samples, which do not divide by " + std::to_string(num_processes) +
                             " processes");
  }
  if (step.layout_numbers > kMaxLayoutNumbers) {
    throw BadDispatchMessage("sent a layout of " + std::to_string(step.layout_numbers) +
                             " numbers (the maximum is " + std::to_string(kMaxLayoutNumbers) + ")");
  }
  return step;
}

std::vector<std::int64_t> numbers_of(const std::vector<TensorLayout>& layout) {
  std::vector<std::int64_t> numbers;
  for (const TensorLayout& tensor : layout) {
    numbers.push_back(tensor.dtype);
    numbers.push_back(static_cast<std::int64_t>(tensor.row_sizes.size()));
    numbers.insert(numbers.end(), tensor.row_sizes.begin(), tensor.row_sizes.end());
  }
  return numbers;
}

std::vector<TensorLayout> read_layout(const std::vector<std::int64_t>& numbers,
                                      std::int64_t num_dtypes) {
  std::vector<TensorLayout> layout;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t dtype = *at++;
    if (dtype < 0 || dtype >= num_dtypes) {
      throw BadDispatchMessage("sent a tensor of the unknown dtype " + std::to_string(dtype));
    }
    const std::int64_t dimensions = at == numbers.end() ? -1 : *at++;
    if (dimensions < 0 || dimensions > numbers.end() - at) {
      throw BadDispatchMessage("sent a layout that ends within a tensor");
    }
    TensorLayout tensor{.dtype = dtype, .row_sizes = {at, at + dimensions}};
    for (const std::int64_t size : tensor.row_sizes) {
      if (size < 0) throw BadDispatchMessage("sent a tensor of the size " + std::to_string(size));
    }
    layout.push_back(std::move(tensor));
    at += dimensions;
  }
  return layout;
}

void check_slice(const std::vector<TensorLayout>& layout, std::int64_t rows) {
  if (layout.empty()) throw BadDispatchMessage("sent a batch without a layout");
  for (const TensorLayout& tensor : layout) {
    if (product_is_at_most(kMaxSliceElements, rows, tensor.row_sizes)) continue;
    throw BadDispatchMessage("sent a tensor whose slices have more than " +
                             std::to_string(kMaxSliceElements) + " elements");
  }
}

}  // namespace accel::runtime
