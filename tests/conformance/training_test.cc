// Runs every case of accumulate.json and training.json, and those of scheduler.json with skipped
// steps, through the Accelerator, in as many processes as the case has. The first two files use
// Accelerate's scaling of a short last window (full_window_scaling).
#include "runtime/testing/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/ranks.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;

// Runs `expect` on the cases of `file`. Cases for N processes run in N processes.
void run_cases(const char* file, void (*expect)(const json&), bool knows_defects = false) {
  const json cases = golden_cases(file);
  std::set<int> worlds;
  for (const json& one : cases) worlds.insert(one["params"]["num_processes"].get<int>());
  for (const int world : worlds) {
    runtime::on_ranks(world, [&] {
      for (const json& one : cases) {
        if (one["params"]["num_processes"] != world) continue;
        SCOPED_TRACE(one["params"].dump());
        EXPECT_TRUE(knows_defects || !one.contains("upstream_defect"))
            << "a defect that this test does not know";
        expect(one);
      }
    });
  }
}

// Item i is tensors[...][i]; a batch stacks items along dimension 0.
class Items : public torch::data::datasets::BatchDataset<Items, std::vector<torch::Tensor>> {
 public:
  explicit Items(std::vector<torch::Tensor> columns) : columns_(std::move(columns)) {}
  std::vector<torch::Tensor> get_batch(c10::ArrayRef<std::size_t> indices) override {
    const std::vector<std::int64_t> rows(indices.begin(), indices.end());
    std::vector<torch::Tensor> batch;
    for (const torch::Tensor& column : columns_) {
      batch.push_back(column.index_select(0, torch::tensor(rows)));
    }
    return batch;
  }
  c10::optional<std::size_t> size() const override { return columns_[0].size(0); }

 private:
  std::vector<torch::Tensor> columns_;
};

auto loader_of(std::vector<torch::Tensor> columns, std::size_t batch_size) {
  return make_data_loader<torch::data::samplers::SequentialSampler>(Items(std::move(columns)),
                                                                    batch_size);
}

struct ScalarImpl : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::tensor(0.0f));
  torch::Tensor forward(const torch::Tensor& x) { return (w * x).sum(); }
};
TORCH_MODULE(Scalar);

void expect_near(double value, const json& expected, const char* what) {
  const double golden = expected;
  EXPECT_NEAR(value, golden, 1e-6 * std::max(1.0, std::abs(golden))) << what;
}

// One run of a case. Each step is checked immediately after it.
class AccumulateCase {
 public:
  explicit AccumulateCase(const json& one)
      : params_(one["params"]),
        accelerator_(
            {.gradient_accumulation = {.num_steps = params_["gradient_accumulation_steps"],
                                       .sync_with_dataloader = params_["sync_with_dataloader"],
                                       .sync_each_batch = params_["sync_each_batch"],
                                       .full_window_scaling = true}}),
        model_(accelerator_.prepare(Scalar())),
        optimizer_(accelerator_.prepare(
            torch::optim::SGD(model_->parameters(), params_["lr"].get<double>()))) {}

  // Runs this rank's steps, epoch by epoch.
  void run(const json& expected) {
    const json& mine = expected["per_rank"][accelerator_.process_index()];
    const std::int64_t n = accelerator_.num_processes(), batches = params_["num_batches"];
    const torch::Tensor data = torch::arange(1, batches * n + 1, torch::kFloat);
    auto loader = accelerator_.prepare(loader_of({data}, 1));
    for (std::size_t epoch = 0; epoch < params_["epochs"]; ++epoch) {
      std::size_t batch = 0;
      const auto step = [&](const torch::Tensor& x) {
        if (epoch == 0 && params_["break_after"] == json(batch)) return false;
        EXPECT_LT(batch, mine[epoch].size());
        if (batch >= mine[epoch].size()) return false;
        expect_step(x, mine[epoch][batch]);
        ++batch;
        return true;
      };
      if (params_["prepared_loader"]) {
        for (auto& x : loader) {
          if (!step(x[0])) break;
        }
      } else {
        for (std::int64_t i = 0; i < batches; ++i) {
          const std::int64_t at = i * n + accelerator_.process_index();
          if (!step(data.slice(0, at, at + 1))) break;
        }
      }
      EXPECT_EQ(batch, mine[epoch].size());
    }
  }

 private:
  void expect_step(const torch::Tensor& x, const json& expected) {
    const torch::Tensor& w = model_->w;
    double factor = std::numeric_limits<double>::quiet_NaN(), gradient = factor;
    const double before = w.item<double>();
    {
      auto step = accelerator_.accumulate(model_);
      torch::Tensor loss = model_(x);
      loss.register_hook([&](const torch::Tensor& g) { factor = g.item<double>(); });
      accelerator_.backward(loss);
      gradient = w.grad().item<double>();
      if (!expected["gradients_reduced"].is_null()) {
        // Unreduced gradients differ between ranks.
        const torch::Tensor all = accelerator_.gather(w.grad());
        EXPECT_EQ(torch::equal(all, all[0].expand_as(all)), expected["gradients_reduced"]);
      }
      optimizer_.step();
      EXPECT_EQ(before != w.item<double>(), expected["optimizer_stepped"]);
      optimizer_.zero_grad();
    }
    expect_near(x.item<double>(), expected["x"], "x");
    EXPECT_EQ(accelerator_.sync_gradients(), expected["sync_gradients"]);
    expect_near(factor, expected["loss_factor"], "loss_factor");
    expect_near(gradient, expected["grad"], "grad");
    expect_near(w.item<double>(), expected["w"], "w");
  }

  const json params_;
  Accelerator accelerator_;
  Model<Scalar> model_;
  Optimizer<torch::optim::SGD> optimizer_;
};

TEST(AccumulateConformance, EveryCase) {
  run_cases("accumulate.json", [](const json& one) { AccumulateCase(one).run(one["expected"]); });
}

struct RegressionImpl : torch::nn::Module {
  torch::Tensor a, b;
  RegressionImpl(float a0, float b0)
      : a(register_parameter("a", torch::tensor(a0))),
        b(register_parameter("b", torch::tensor(b0))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x * a + b; }
};
TORCH_MODULE(Regression);

// Returns the effective optimizer steps in the format of training.json.
template <typename Optim>
json train(const json& params, Optim optimizer_options) {
  Accelerator accelerator(
      {.split_batches = params["split_batches"],
       .gradient_accumulation = {.num_steps = params["gradient_accumulation_steps"],
                                 .full_window_scaling = true}});
  Regression net(params["a0"].get<float>(), params["b0"].get<float>());
  const auto floats = [&](const char* name) {
    return torch::tensor(params[name].get<std::vector<float>>());
  };
  auto [model, optimizer, loader] =
      accelerator.prepare(net, optimizer_options(net->parameters(), params["lr"].get<double>()),
                          loader_of({floats("x"), floats("y")}, params["batch_size"]));
  json steps = json::array();
  for (int epoch = 0; epoch < params["epochs"]; ++epoch) {
    for (auto& batch : loader) {
      auto scope = accelerator.accumulate(model);
      accelerator.backward(torch::mse_loss(model(batch[0]), batch[1]));
      json step;
      if (accelerator.sync_gradients() && !params["clip_grad_norm"].is_null()) {
        const torch::Tensor norm =
            accelerator.clip_grad_norm_(model->parameters(), params["clip_grad_norm"]);
        step["grad_norm"] = norm.item<double>();
      }
      optimizer.step();
      optimizer.zero_grad();
      if (!accelerator.sync_gradients()) continue;
      step["a"] = net->a.item<double>();
      step["b"] = net->b.item<double>();
      steps.push_back(step);
    }
  }
  return steps;
}

void expect_trains(const json& one) {
  const json &params = one["params"], &expected = one["expected"]["steps"];
  const json steps =
      params["optimizer"] == "SGD"
          ? train(params,
                  [](auto parameters, double lr) { return torch::optim::SGD(parameters, lr); })
          : train(params, [](auto parameters, double lr) {
              return torch::optim::Adam(parameters, torch::optim::AdamOptions(lr));
            });
  ASSERT_EQ(steps.size(), expected.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    SCOPED_TRACE("step " + std::to_string(k));
    ASSERT_EQ(steps[k].size(), expected[k].size());
    for (const auto& [name, value] : expected[k].items()) {
      expect_near(steps[k][name], value, name.c_str());
    }
  }
}

TEST(TrainingConformance, EveryCase) { run_cases("training.json", expect_trains); }

LrSchedule schedule_of(const json& scheduler) {
  if (scheduler["type"] == "StepLR")
    return step_schedule(scheduler["step_size"], scheduler["gamma"]);
  if (scheduler["type"] == "OneCycleLR") {
    return one_cycle_schedule({.max_lr = scheduler["max_lr"],
                               .total_steps = scheduler["total_steps"],
                               .cycle_momentum = false});
  }
  EXPECT_EQ(scheduler["type"], "LambdaLR");
  const double period = scheduler["period"];
  return lambda_schedule([=](std::int64_t n) { return 1 - static_cast<double>(n) / period; });
}

// Runs a case in fp16, with gradients that overflow in the steps that the case skips.
// scheduler_test.cc runs the other cases, and checks the other counts.
void expect_schedules(const json& one) {
  const json& params = one["params"];
  const bool split = params["split_batches"];
  Accelerator accelerator(
      {.split_batches = split,
       .gradient_accumulation = {.num_steps = params["gradient_accumulation_steps"]},
       .mixed_precision = MixedPrecision::kFp16,
       .step_scheduler_with_optimizer = params["step_scheduler_with_optimizer"]});
  const std::int64_t n = accelerator.num_processes(), batches = params["num_batches"];
  Scalar net;
  auto sgd = std::make_shared<torch::optim::SGD>(net->parameters(), params["lr"].get<double>());
  auto [model, optimizer, scheduler, loader] = accelerator.prepare(
      net, sgd, Scheduler(sgd, schedule_of(params["scheduler"])),
      loader_of({torch::ones({batches * n})}, split ? static_cast<std::size_t>(n) : 1));
  const auto skipped_at = params["skipped_at"].get<std::set<std::size_t>>();
  std::size_t call = 0;
  for (int epoch = 0; epoch < params["epochs"]; ++epoch) {
    for (auto& batch : loader) {
      auto scope = accelerator.accumulate(model);
      const bool overflow = accelerator.sync_gradients() && skipped_at.contains(call);
      // The gradient of one rank overflows, and all ranks skip.
      const bool mine = overflow && accelerator.is_last_process();
      accelerator.backward(model(mine ? batch[0] * INFINITY : batch[0]));
      optimizer.step();
      scheduler.step();
      optimizer.zero_grad();
      const json& after = one["expected"]["calls"].at(call);
      EXPECT_EQ(accelerator.sync_gradients(), after["sync_gradients"]) << "call " << call;
      EXPECT_EQ(accelerator.sync_gradients() && optimizer.step_was_skipped(), overflow);
      EXPECT_NEAR(scheduler.get_last_lr()[0], after["lr"], 1e-12) << "call " << call;
      EXPECT_EQ(scheduler.last_epoch(), after["last_epoch"]) << "call " << call;
      ++call;
    }
  }
  EXPECT_EQ(call, one["expected"]["calls"].size());
}

TEST(SchedulerConformance, EveryCaseOfSkippedStepsThroughThePreparedObjects) {
  run_cases(
      "scheduler.json",
      [](const json& one) {
        if (!one["params"]["skipped_at"].empty()) expect_schedules(one);
      },
      /*knows_defects=*/true);
}

}  // namespace
}  // namespace accel
