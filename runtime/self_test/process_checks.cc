#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/self_test/checks.h"

namespace accel::self_test {
namespace {

std::string text_of(const at::Tensor& tensor) {
  std::string text;
  const at::Tensor values = tensor.to(torch::kCPU, torch::kDouble).flatten();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i].item<double>());
  }
  return "[" + text + "]";
}

void expect_equal(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  const bool equal =
      found.sizes() == expected.sizes() && torch::equal(found.cpu(), expected.to(found.dtype()));
  expect(equal, what + " is " + text_of(found) + ", not " + text_of(expected));
}

at::Tensor on_device(const Accelerator& accelerator, double value) {
  return torch::full({2}, value, torch::TensorOptions(accelerator.device()));
}

void ranks_are_known() {
  const Accelerator accelerator;
  const int world = accelerator.num_processes();
  const auto ranks = accelerator.gather(
      torch::full({1}, accelerator.process_index(),
                  torch::TensorOptions(torch::kLong).device(accelerator.device())));
  expect_equal(ranks, torch::arange(world), "the list of ranks");
}

void collectives_are_right() {
  const Accelerator accelerator;
  const double world = accelerator.num_processes(), rank = accelerator.process_index();
  expect_equal(accelerator.reduce(on_device(accelerator, rank + 1)),
               torch::full({2}, world * (world + 1) / 2), "the sum over all ranks");
  expect_equal(accelerator.reduce(on_device(accelerator, rank), torch::kMean),
               torch::full({2}, (world - 1) / 2), "the mean over all ranks");
  expect_equal(accelerator.broadcast(on_device(accelerator, rank + 5)), torch::full({2}, 5.),
               "the broadcast of rank 0");
  const auto rows =
      torch::ones({accelerator.process_index() + 1}, torch::TensorOptions(accelerator.device()));
  expect(accelerator.pad_across_processes(rows).size(0) == accelerator.num_processes(),
         "tensors of different lengths are not padded to the longest");
  const auto names = accelerator.gather_object({std::to_string(accelerator.process_index())});
  for (std::size_t i = 0; i < names.size(); ++i) {
    expect(names[i] == std::to_string(i), "object " + std::to_string(i) + " is " + names[i]);
  }
  expect(static_cast<int>(names.size()) == accelerator.num_processes(), "an object is missing");
}

// The clock is the same for all processes of a machine, but not for all machines.
void the_main_process_goes_first() {
  const Accelerator accelerator;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = accelerator.local_main_process_first([&accelerator] {
    const Clock::time_point begin = Clock::now();
    // Long enough for a process that does not wait to be seen.
    if (accelerator.is_local_main_process()) {
      while (Clock::now() - begin < std::chrono::milliseconds(20)) {
      }
      return Clock::now();
    }
    return begin;
  });
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  const auto nanoseconds = began.time_since_epoch().count();
  const auto all = accelerator.gather_object({host, std::to_string(nanoseconds)});
  std::int64_t main_process = 0;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i] != host) continue;
    const std::int64_t time = std::stoll(all[i + 1]);
    if (main_process == 0) main_process = time;
    expect(time >= main_process, "a process did not wait for the main process of its machine");
  }
}

void functions_run_on_their_process() {
  const Accelerator accelerator;
  const int last = accelerator.num_processes() - 1;
  const auto ran = [](const auto& result) { return result.has_value(); };
  const auto one = [] { return 1; };
  expect(ran(accelerator.on_main_process(one)) == accelerator.is_main_process(),
         "on_main_process() ran on another process");
  expect(ran(accelerator.on_last_process(one)) == (accelerator.process_index() == last),
         "on_last_process() ran on another process");
  expect(ran(accelerator.on_local_main_process(one)) == accelerator.is_local_main_process(),
         "on_local_main_process() ran on another process");
  expect(ran(accelerator.on_process(last, one)) == (accelerator.process_index() == last),
         "on_process() ran on another process");
}

void work_is_split() {
  const Accelerator accelerator;
  std::vector<int> items(17);
  std::iota(items.begin(), items.end(), 0);
  std::vector<std::string> mine;
  for (const int item : accelerator.split_between_processes(items)) {
    mine.push_back(std::to_string(item));
  }
  const auto all = accelerator.gather_object(mine);
  expect(all.size() == items.size(), "the parts of 17 items have " + std::to_string(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect(all[i] == std::to_string(i), "item " + std::to_string(i) + " became " + all[i]);
  }
  const auto padded = accelerator.split_between_processes(torch::arange(17), true);
  const auto sizes = accelerator.gather(torch::full(
      {1}, padded.size(0), torch::TensorOptions(torch::kLong).device(accelerator.device())));
  expect(sizes.min().item<std::int64_t>() == sizes.max().item<std::int64_t>(),
         "padded parts have different lengths");
}

void random_numbers_agree() {
  const Accelerator accelerator;
  torch::manual_seed(static_cast<std::uint64_t>(accelerator.process_index()));
  accelerator.synchronize_rng_states();
  const auto drawn = torch::rand({4}, torch::TensorOptions(accelerator.device()));
  const auto all = accelerator.gather(drawn.unsqueeze(0));
  expect(torch::equal(all, drawn.unsqueeze(0).expand_as(all)),
         "the ranks draw different numbers after their generators were synchronized");
}

void a_trigger_reaches_all() {
  Accelerator accelerator;
  expect(!accelerator.check_trigger(), "a trigger is set that no rank has set");
  if (accelerator.is_main_process()) accelerator.set_trigger();
  expect(accelerator.check_trigger(), "a trigger of rank 0 did not arrive");
  expect(!accelerator.check_trigger(), "a trigger was not cleared");
}

}  // namespace

std::vector<Check> process_checks() {
  return {{"every rank takes part", ranks_are_known},
          {"collectives give the right results", collectives_are_right},
          {"the main process of each machine goes first", the_main_process_goes_first},
          {"functions run on their process", functions_run_on_their_process},
          {"work is split between the processes", work_is_split},
          {"random numbers are synchronized", random_numbers_agree},
          {"a trigger reaches all processes", a_trigger_reaches_all}};
}

}  // namespace accel::self_test
