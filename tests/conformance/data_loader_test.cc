// Runs every case of random_sampler_epochs.json, dispatcher.json and gather_for_metrics.json, the
// last two in as many processes as the case has. In cases that are marked as defects of Accelerate,
// the test expects what accel does instead:
//   - a loop that is left early ends its epoch, so the next epoch has another order;
//   - a loader without a single batch yields nothing;
//   - every process gets a batch, even if there are fewer samples than processes;
//   - gather_for_metrics() gives each sample once, even of streams and after skip_first_batches();
//   - skip_first_batches(n) of a dispatching loader skips n steps;
//   - one number per rank is never cut.
#include "accel/data_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

#include "accel/accelerator.h"
#include "accel/seedable_sampler.h"
#include "runtime/data/sampler_rng.h"
#include "runtime/testing/datasets.h"
#include "runtime/testing/ranks.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;
using torch::data::samplers::RandomSampler;
using torch::data::samplers::SequentialSampler;
using Indices = std::vector<std::size_t>;
using Batches = std::vector<std::vector<double>>;

std::vector<double> doubles(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.to(torch::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// Returns all numbers in a golden value.
std::vector<double> doubles(const json& golden) {
  if (golden.is_number()) return {golden.get<double>()};
  std::vector<double> all;
  if (golden.is_object() && golden.contains("data")) return doubles(golden["data"]);
  for (const json& part : golden) {
    for (double value : doubles(part)) all.push_back(value);
  }
  return all;
}

std::vector<double> range(std::size_t begin, std::size_t end) {
  std::vector<double> all(end - std::min(begin, end));
  std::iota(all.begin(), all.end(), static_cast<double>(begin));
  return all;
}

bool defect(const json& one, const std::string& text) {
  return one.contains("upstream_defect") &&
         one["upstream_defect"].get<std::string>().find(text) != std::string::npos;
}

torch::data::DataLoaderOptions loader_options(const json& params) {
  return torch::data::DataLoaderOptions(params["batch_size"].get<std::size_t>())
      .drop_last(params["drop_last"]);
}

Indices drawn(SeedableRandomSampler& sampler, std::size_t epoch) {
  sampler.set_epoch(epoch);
  sampler.reset();
  Indices order;
  while (auto batch = sampler.next(7)) order.insert(order.end(), batch->begin(), batch->end());
  return order;
}

void expect_orders(const json& one) {
  const json& params = one["params"];
  const std::size_t length = params["length"], epochs = params["epochs"];
  if (params["kind"] == "torch_generator") {
    at::Generator generator = at::detail::createCPUGenerator(params["seed"].get<std::uint64_t>());
    for (std::size_t e = 0; e < epochs; ++e) {
      EXPECT_EQ(runtime::draw_random_order(generator, length, length, false),
                one["expected"]["orders"][e].get<Indices>());
    }
    return;
  }
  SeedableRandomSampler::Options options{.data_seed = params["data_seed"],
                                         .replacement = params["replacement"]};
  if (!params["num_samples"].is_null()) options.num_samples = params["num_samples"];
  if (one["expected"].contains("error")) {
    EXPECT_THROW(SeedableRandomSampler(length, options), std::invalid_argument);
    return;
  }
  SeedableRandomSampler sampler(length, options);
  for (std::size_t e = 0; e < epochs; ++e) {
    EXPECT_EQ(drawn(sampler, e), one["expected"]["orders"][e].get<Indices>());
  }
}

// Returns the batches of one epoch of `loader`, up to batch `stop`, and true if the loop
// was left there.
template <typename Loader>
std::pair<Batches, bool> pass(Loader& loader, std::optional<std::size_t> stop = std::nullopt) {
  Batches batches;
  for (const torch::Tensor& batch : loader) {
    if (batches.size() == stop) return {batches, true};
    batches.push_back(doubles(batch));
  }
  return {batches, false};
}

void expect_epochs(const json& one) {
  const json& params = one["params"];
  for (std::size_t p = 0; p < params["num_processes"]; ++p) {
    auto loader =
        make_data_loader<RandomSampler>(runtime::Numbers(params["length"]), loader_options(params))
            .sharded({.prepared = true,
                      .num_processes = params["num_processes"],
                      .process_index = p,
                      .split_batches = params["split_batches"],
                      .even_batches = params["even_batches"],
                      .seed = params["data_seed"].get<std::uint64_t>()});
    const auto expected = one["expected"]["epochs"][p].get<std::vector<Batches>>();
    std::optional<std::size_t> stop;
    if (!params["break_after"].is_null()) stop = params["break_after"].get<std::size_t>();
    auto [first, left_early] = pass(loader, stop);
    EXPECT_EQ(first, expected[0]);
    if (left_early) {
      // Accelerate repeats epoch 0, so it is one epoch behind.
      EXPECT_EQ(pass(loader).first, expected[2]);
      loader.set_epoch(0);
      EXPECT_EQ(pass(loader).first, expected[1]);
      continue;
    }
    for (std::size_t e = 1; e < expected.size(); ++e) EXPECT_EQ(pass(loader).first, expected[e]);
  }
}

TEST(RandomSamplerConformance, EveryCase) {
  for (const json& one : golden_cases("random_sampler_epochs.json")) {
    SCOPED_TRACE(one.dump());
    one["params"]["kind"] == "loader" ? expect_epochs(one) : expect_orders(one);
  }
}

// Calls `check(accelerator, one, loader)` with the prepared loader of the case.
template <typename Check>
void with_loader(const json& one, const AcceleratorOptions& options, Check&& check) {
  const json& params = one["params"];
  Accelerator accelerator(options);
  if (params["dataset"] == "map") {
    auto loader = make_data_loader<SequentialSampler>(runtime::Numbers(params["length"]),
                                                      loader_options(params));
    check(accelerator, one, loader);
  } else {
    auto loader = make_data_loader(
        runtime::NumberStream(params["length"], params["dataset"] == "sized_iterable"),
        loader_options(params));
    check(accelerator, one, loader);
  }
}

// Runs the cases in real processes. All cases with the same number of processes share one world.
template <typename Check>
void on_worlds(const char* file, Check&& check) {
  const json cases = golden_cases(file);
  std::set<int> worlds;
  for (const json& one : cases) worlds.insert(one["params"]["num_processes"].get<int>());
  for (const int world_size : worlds) {
    runtime::on_ranks(world_size, [&] {
      Accelerator world;
      for (const json& one : cases) {
        if (one["params"]["num_processes"] != world_size) continue;
        SCOPED_TRACE(one.dump());
        check(one);
      }
    });
  }
}

template <typename Loader>
void expect_dispatched(Accelerator& accelerator, const json& one, Loader& plain) {
  const json& expected = one["expected"];
  if (expected.contains("error") && !one.contains("upstream_defect")) {
    EXPECT_THROW(accelerator.prepare(plain), std::invalid_argument);
    return;
  }
  auto loader = accelerator.prepare(plain);
  Batches batches;
  std::vector<bool> ends;
  std::size_t remainder = 0;
  std::vector<double> together;
  for (const torch::Tensor& batch : loader) {
    batches.push_back(doubles(batch));
    ends.push_back(loader.end_of_dataloader());
    remainder = loader.real_samples();
    for (double value : doubles(accelerator.gather_for_metrics(batch))) together.push_back(value);
  }
  if (defect(one, "without a single batch")) {
    EXPECT_TRUE(batches.empty());
    EXPECT_EQ(loader.size(), 0u);
    return;
  }
  EXPECT_EQ(ends, expected["end_of_dataloader"].get<std::vector<bool>>());
  EXPECT_EQ(remainder, expected["remainder"].get<std::size_t>());
  if (defect(one, "an empty batch")) {
    EXPECT_EQ(together, range(0, one["params"]["length"]));
    for (const auto& batch : batches) EXPECT_FALSE(batch.empty());
  } else {
    EXPECT_FALSE(one.contains("upstream_defect")) << "a defect unknown to this test";
    const auto mine = static_cast<std::size_t>(accelerator.process_index());
    EXPECT_EQ(batches, expected["batches"]["per_rank"][mine].get<Batches>());
  }
  if (expected["len"].is_null()) {
    EXPECT_THROW(loader.size(), std::logic_error);
  } else {
    EXPECT_EQ(loader.size(), expected["len"].get<std::size_t>());
  }
}

TEST(DispatcherConformance, EveryCase) {
  on_worlds("dispatcher.json", [](const json& one) {
    const AcceleratorOptions options{.split_batches = one["params"]["split_batches"],
                                     .dispatch_batches = true};
    with_loader(one, options, [](auto& accelerator, const json& c, auto& loader) {
      expect_dispatched(accelerator, c, loader);
    });
  });
}

struct Gathered {
  std::vector<double> metrics, all;
};

// The structure of the case, {"a": x, "b": (2 * x, [x + 0.5])}. All values of a C++ map have
// one type, so "a" is a tuple too.
using Nested = std::map<std::string, std::tuple<torch::Tensor, std::vector<torch::Tensor>>>;

std::vector<double> doubles(const Nested& nested) {
  std::vector<double> all;
  for (const torch::Tensor& tensor : tensors_of(nested)) {
    for (double value : doubles(tensor)) all.push_back(value);
  }
  return all;
}

// Returns the numbers i of strings "s<i>".
std::vector<double> doubles(const std::vector<std::string>& objects) {
  std::vector<double> all;
  for (const std::string& text : objects) {
    EXPECT_EQ(text.at(0), 's');
    all.push_back(std::stod(text.substr(1)));
  }
  return all;
}

// Gathers what the case gathers for the batch `x`.
Gathered gather_case(Accelerator& accelerator, const std::string& data, const torch::Tensor& x) {
  const auto both = [&](const auto& value) {
    return Gathered{doubles(accelerator.gather_for_metrics(value)),
                    doubles(accelerator.gather(value))};
  };
  if (data == "scalar") return both(x.to(torch::kFloat).sum());
  if (data == "nested") {
    return both(Nested{{"a", {x, {}}}, {"b", {x * 2, {x.to(torch::kFloat) + 0.5}}}});
  }
  if (data == "objects") {
    std::vector<std::string> objects;
    for (const std::int64_t value : runtime::values(x))
      objects.push_back("s" + std::to_string(value));
    return {doubles(accelerator.gather_for_metrics(objects)), {}};
  }
  return both(x);
}

std::vector<double> numbers_of(const std::string& data, const json& golden) {
  return data == "objects" ? doubles(golden.get<std::vector<std::string>>()) : doubles(golden);
}

template <typename Loader>
void expect_gathered(Accelerator& accelerator, const json& one, Loader& plain) {
  const json& params = one["params"];
  const std::string data = params["data"];
  auto loader = accelerator.skip_first_batches(accelerator.prepare(plain), params["skip_batches"]);
  std::vector<double> metrics;
  std::size_t k = 0;
  const bool other_steps =
      defect(one, "skips n inner batches") || defect(one, "without a single batch");
  for (const torch::Tensor& x : loader) {
    const Gathered got = gather_case(accelerator, data, x);
    metrics.insert(metrics.end(), got.metrics.begin(), got.metrics.end());
    if (other_steps) continue;
    const json& step = one["expected"]["steps"].at(k++);
    if (!step["gather"].is_null()) {
      EXPECT_EQ(got.all, doubles(step["gather"]));
    }
    EXPECT_EQ(loader.end_of_dataloader(), step["end_of_dataloader"].get<bool>());
    if (defect(one, "one value per rank")) {
      EXPECT_EQ(got.metrics, got.all);
    }
    if (one.contains("upstream_defect")) continue;
    EXPECT_EQ(got.metrics, numbers_of(data, step["gather_for_metrics"]));
    if (loader.end_of_dataloader() && step["remainder"] > 0) {
      EXPECT_EQ(loader.real_samples(), step["remainder"].get<std::size_t>());
    }
  }
  if (!other_steps) {
    EXPECT_EQ(k, one["expected"]["steps"].size());
  }
  if (defect(one, "without a single batch")) {
    EXPECT_TRUE(metrics.empty());
  }
  if (defect(one, "samples gathered") || defect(one, "skips n inner batches")) {
    const std::size_t step = params["batch_size"].get<std::size_t>() *
                             (params["split_batches"] ? 1 : params["num_processes"].get<int>());
    EXPECT_EQ(metrics, range(params["skip_batches"].get<std::size_t>() * step, params["length"]));
  }
}

TEST(GatherForMetricsConformance, EveryCase) {
  on_worlds("gather_for_metrics.json", [](const json& one) {
    const json& params = one["params"];
    with_loader(one,
                {.split_batches = params["split_batches"],
                 .even_batches = params["even_batches"],
                 .dispatch_batches = params["dispatch_batches"].get<bool>()},
                [](auto& accelerator, const json& c, auto& loader) {
                  expect_gathered(accelerator, c, loader);
                });
  });
}

}  // namespace
}  // namespace accel
