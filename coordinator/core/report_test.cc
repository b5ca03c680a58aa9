#include "coordinator/core/report.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

v1::NodeObserved Report() {
  v1::NodeObserved report;
  report.set_node_id("id-a");
  report.set_incarnation("a-1");
  report.set_name("a");
  return report;
}

TEST(ReportTest, EachBoundIsNamed) {
  const auto times = [](int count, auto add) {
    return [count, add](v1::NodeObserved* report) {
      for (int i = 0; i < count; ++i) add(report);
    };
  };
  const auto add_gpu = [](v1::NodeObserved* r) { r->mutable_inventory()->add_gpus(); };
  const auto add_socket = [](v1::NodeObserved* r) { r->add_store_sockets(); };
  const auto add_generation = [](v1::NodeObserved* r) { r->add_generations(); };
  const auto add_worker = [](v1::NodeObserved* r) {
    if (r->generations().empty()) r->add_generations();
    r->mutable_generations(0)->add_workers();
  };
  const struct {
    std::function<void(v1::NodeObserved*)> good;
    std::function<void(v1::NodeObserved*)> bad;
    absl::StatusCode code;
    std::string says;
  } kCases[] = {
      {[](auto* r) { r->set_node_id("x"); }, [](auto* r) { r->clear_node_id(); },
       absl::StatusCode::kInvalidArgument, "node_id is missing"},
      {[](auto* r) { r->set_name(std::string(128, 'x')); },
       [](auto* r) { r->set_name(std::string(129, 'x')); }, absl::StatusCode::kInvalidArgument,
       "name has 129 characters; at most 128"},
      {[](auto* r) { r->set_boot_id("b"); }, [](auto* r) { r->set_boot_id(std::string(200, 'x')); },
       absl::StatusCode::kInvalidArgument, "boot_id"},
      {[](auto* r) { r->set_address("10.0.0.1"); },
       [](auto* r) { r->set_address(std::string(300, 'x')); }, absl::StatusCode::kInvalidArgument,
       "address"},
      {[](auto* r) { r->add_addresses("fd31::1"); }, [](auto* r) { r->add_addresses("node7"); },
       absl::StatusCode::kInvalidArgument, "addresses: \"node7\" is not a numeric address"},
      {[](auto* r) { r->add_addresses("::1"); }, [](auto* r) { r->add_addresses("\x1b[2J"); },
       absl::StatusCode::kInvalidArgument, "addresses: \"\\x1b[2J\" is not a numeric address"},
      {times(64, [](v1::NodeObserved* r) { r->add_addresses("10.0.0.1"); }),
       times(65, [](v1::NodeObserved* r) { r->add_addresses("10.0.0.1"); }),
       absl::StatusCode::kResourceExhausted, "addresses: the report has 65; at most 64"},
      {[](auto* r) { r->mutable_inventory()->add_gpus()->set_name("H200"); },
       [](auto* r) { r->mutable_inventory()->add_gpus()->set_name(std::string(300, 'x')); },
       absl::StatusCode::kInvalidArgument, "the name of a GPU"},
      {times(1024, add_gpu), times(1025, add_gpu), absl::StatusCode::kResourceExhausted,
       "inventory.gpus: the report has 1025; at most 1024"},
      {times(1024, add_socket), times(1025, add_socket), absl::StatusCode::kResourceExhausted,
       "store_sockets"},
      {times(1024, add_generation), times(1025, add_generation),
       absl::StatusCode::kResourceExhausted, "generations"},
      {times(1024, add_worker), times(1025, add_worker), absl::StatusCode::kResourceExhausted,
       "workers of a generation"},
  };
  for (const auto& each : kCases) {
    v1::NodeObserved report = Report();
    each.good(&report);
    EXPECT_OK(CheckReport(report)) << each.says;
    report = Report();
    each.bad(&report);
    EXPECT_THAT(CheckReport(report), StatusIs(each.code, HasSubstr(each.says)));
  }
}

TEST(ReportTest, TextsAreCutBetweenCharacters) {
  v1::NodeObserved report = Report();
  v1::ObservedGeneration* generation = report.add_generations();
  // Byte 4,096 is inside an "é", so the text is cut before that character.
  generation->mutable_failure()->set_message("x" + std::string(5000, 'x').replace(4094, 2, "é"));
  v1::ObservedWorker* worker = generation->add_workers();
  worker->mutable_exit()->set_message("short");
  for (int i = 0; i < 100; ++i) worker->add_last_lines("line " + std::to_string(i));
  v1::ObservedWorker* loud = generation->add_workers();
  for (int i = 0; i < 10; ++i) loud->add_last_lines(std::string(10'000, 'a' + i));
  CutTexts(&report);
  EXPECT_EQ(generation->failure().message(), std::string(4095, 'x'));
  EXPECT_EQ(worker->exit().message(), "short");
  ASSERT_EQ(worker->last_lines_size(), kMaxReportedLines);
  EXPECT_EQ(worker->last_lines(0), "line 36");
  EXPECT_EQ(worker->last_lines(63), "line 99");
  ASSERT_EQ(loud->last_lines_size(), 4);
  EXPECT_EQ(loud->last_lines(3), std::string(4096, 'j'));
  EXPECT_FALSE(loud->has_exit());
}

TEST(ReportTest, TextsThatAreNotSetTakeNoMemory) {
  v1::NodeObserved report;
  const size_t before = report.SpaceUsedLong();
  CutTexts(&report);
  EXPECT_EQ(report.SpaceUsedLong(), before);
}

}  // namespace
}  // namespace accel::coordinator
