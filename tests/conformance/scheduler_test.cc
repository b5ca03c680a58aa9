// Runs every case of scheduler.json. In cases that are marked as defects of Accelerate,
// adjust_scheduler has its documented effect here: a call while gradients are accumulated counts in
// step_count(), and in nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "accel/lr_schedule.h"
#include "runtime/core/accumulation.h"
#include "runtime/core/schedule_counter.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;

LrSchedule schedule_of(const json& scheduler) {
  if (scheduler["type"] == "LambdaLR") {
    const double period = scheduler["period"];
    return lambda_schedule([=](std::int64_t n) { return 1 - static_cast<double>(n) / period; });
  }
  if (scheduler["type"] == "StepLR")
    return step_schedule(scheduler["step_size"], scheduler["gamma"]);
  EXPECT_EQ(scheduler["type"], "OneCycleLR");
  return one_cycle_schedule(
      {.max_lr = scheduler["max_lr"], .total_steps = scheduler["total_steps"]});
}

void expect_conforms(const json& one) {
  const json &params = one["params"], &expected = one["expected"];
  ASSERT_FALSE(expected.contains("raised"));
  const LrSchedule schedule = schedule_of(params["scheduler"]);
  runtime::Accumulation accumulation({.num_steps = params["gradient_accumulation_steps"]});
  runtime::ScheduleCounter steps(schedule.total_steps);
  const runtime::SchedulerOptions options{
      .step_with_optimizer = params["step_scheduler_with_optimizer"],
      .split_batches = params["split_batches"],
      .data_parallel_size = params["num_processes"],
      .adjust_scheduler = params["adjust_scheduler"]};
  const double lr = params["lr"];
  const auto skipped_at = params["skipped_at"].get<std::vector<int>>();
  const int batches = params["num_batches"];
  EXPECT_NEAR(schedule.rate(lr, 0), expected["initial_lr"], 1e-12);
  ASSERT_EQ(expected["calls"].size(),
            static_cast<std::size_t>(batches) * params["epochs"].get<std::size_t>());
  int call = 0, without_sync = 0;
  for (const json& after : expected["calls"]) {
    accumulation.begin({.end_of_dataloader = call % batches == batches - 1});
    const bool skipped = std::count(skipped_at.begin(), skipped_at.end(), call) > 0;
    steps.step(options, accumulation.sync_gradients(), skipped);
    without_sync += accumulation.sync_gradients() ? 0 : 1;
    EXPECT_EQ(accumulation.sync_gradients(), after["sync_gradients"]) << "call " << call;
    EXPECT_EQ(steps.last_epoch(), after["last_epoch"]) << "call " << call;
    EXPECT_NEAR(schedule.rate(lr, steps.last_epoch()), after["lr"], 1e-12) << "call " << call;
    const int adjusted = one.contains("upstream_defect") ? without_sync : 0;
    EXPECT_EQ(steps.step_count(), after["step_count"].get<int>() + adjusted) << "call " << call;
    ++call;
  }
}

TEST(SchedulerConformance, EveryCase) {
  for (const json& one : golden_cases("scheduler.json")) {
    SCOPED_TRACE(one["params"].dump());
    if (one.contains("upstream_defect")) {
      EXPECT_EQ(one["defect_fields"], json::array({"calls.step_count"}));
    }
    expect_conforms(one);
  }
}

}  // namespace
}  // namespace accel
