// Trackers, profiler and logger, used through an Accelerator.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/logger.h"
#include "accel/profile.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Returns a folder that does not exist yet. Ranks that the test starts do not remove it.
fs::path folder_of(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "reporting" / name;
  if (std::getenv("RANK") == nullptr) fs::remove_all(folder);
  return folder;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(TrackersTest, OnlyTheMainProcessWrites) {
  const fs::path folder = folder_of("trackers");
  const bool is_parent = on_ranks(2, [&] {
    Accelerator accelerator(
        {.project = {.project_dir = folder / std::to_string(std::atoi(std::getenv("RANK")))},
         .log_with = {"tensorboard", "jsonl"}});
    accelerator.init_trackers("project", {{"rate", 0.1}});
    accelerator.log({{"loss", 0.5}}, 1);
    accelerator.get_tracker("jsonl").log({{"more", 1}}, 1);
    accelerator.end_training();
  });
  if (!is_parent) return;
  EXPECT_FALSE(fs::exists(folder / "1"));
  EXPECT_EQ(names_in(folder / "0" / "project").size(), 2u);
  const auto lines = lines_of(folder / "0" / "project" / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(json::parse(lines[0])["config"]["rate"], 0.1);
  EXPECT_EQ(json::parse(lines[1])["values"]["loss"], 0.5);
}

TEST(TrackersTest, LoggingDirGoesBeforeProjectDir) {
  const fs::path folder = folder_of("logging_dir");
  Accelerator accelerator({.cpu = true,
                           .project = {.project_dir = "/nowhere", .logging_dir = folder},
                           .log_with = {"jsonl"}});
  EXPECT_THROW(accelerator.log({{"loss", 1}}, 1), std::logic_error);
  accelerator.init_trackers("project");
  EXPECT_TRUE(fs::exists(folder / "project" / "metrics.jsonl"));
  EXPECT_THROW(accelerator.get_tracker("tensorboard"), std::invalid_argument);
  accelerator.end_training();
  EXPECT_THROW(Accelerator({.log_with = {"mlflow"}}), std::invalid_argument);
}

// Returns the names of the events in a trace. Expects that the whole file is JSON.
std::multiset<std::string> events_of(const fs::path& path) {
  std::ifstream file(path);
  const json trace = json::parse(file);
  std::multiset<std::string> names;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") names.insert(event.at("name"));
  }
  return names;
}

void run_step() {
  const auto weight = torch::ones({4, 4}).requires_grad_();
  weight.mm(weight).sum().backward();
}

TEST(ProfileTest, EachRankHasATraceOfItsOperators) {
  const fs::path folder = folder_of("ranks");
  const bool is_parent = on_ranks(2, [&] {
    Accelerator accelerator;
    {
      auto profile = accelerator.profile({.output_trace_dir = folder, .record_shapes = true});
      run_step();
      accelerator.reduce(torch::ones(3));
    }
    run_step();
  });
  if (!is_parent) return;
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("profile_0.json", "profile_1.json"));
  for (const std::string& name : names_in(folder)) {
    const auto events = events_of(folder / name);
    // One product in the forward pass and two in the backward pass.
    EXPECT_EQ(events.count("aten::mm"), 3u) << name;
    EXPECT_EQ(events.count("reduce (all_reduce)"), 1u) << name;
  }
}

TEST(ProfileTest, FollowsItsSchedule) {
  const fs::path folder = folder_of("schedule");
  Accelerator accelerator({.cpu = true});
  std::vector<std::string> ready;
  {
    auto profile = accelerator.profile(
        {.output_trace_dir = folder,
         .schedule = {{.wait = 1, .warmup = 1, .active = 2, .repeat = 2}},
         .on_trace_ready = [&](const std::string& path) { ready.push_back(path); }});
    for (int step = 0; step < 10; ++step) {
      run_step();
      profile.step();
    }
  }
  EXPECT_THAT(ready, ElementsAre(folder / "profile_0.json", folder / "profile_0_1.json"));
  const auto first = events_of(ready.at(0)), second = events_of(ready.at(1));
  EXPECT_EQ(first.count("aten::mm"), 6u);
  EXPECT_EQ(first.count("ProfilerStep#2") * first.count("ProfilerStep#3"), 1u);
  EXPECT_EQ(second.count("ProfilerStep#6") * second.count("ProfilerStep#7"), 1u);
}

TEST(ProfileTest, AScopeThatEndsEarlyKeepsWhatItHas) {
  const fs::path folder = folder_of("early");
  Accelerator accelerator({.cpu = true});
  for (const int steps : {0, 1}) {
    auto profile = accelerator.profile({.output_trace_dir = folder / std::to_string(steps),
                                        .schedule = {{.warmup = 1, .active = 5}}});
    for (int step = 0; step < steps; ++step) profile.step();
    run_step();
  }
  EXPECT_FALSE(fs::exists(folder / "0"));  // That step was a warm-up.
  EXPECT_EQ(events_of(folder / "1" / "profile_0.json").count("aten::mm"), 3u);
}

TEST(ProfileTest, ATraceThatCannotBeWrittenDoesNotEndTraining) {
  const fs::path file = folder_of("file");
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "no folder";
  Accelerator accelerator({.cpu = true});
  testing::internal::CaptureStderr();
  {
    auto profile = accelerator.profile({.output_trace_dir = file});
    EXPECT_THROW(accelerator.profile(), std::logic_error);  // Only one at a time.
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the trace is lost"));
  EXPECT_THROW(accelerator.profile({.schedule = {{.active = 0}}}), std::invalid_argument);
}

TEST(LoggerTest, TheMainProcessLogsAndAllInTurnIfAsked) {
  const fs::path log = folder_of("logger") / "lines";
  fs::create_directories(log.parent_path());
  const bool is_parent =
      on_ranks(3,
               [&] {
                 Accelerator accelerator;
                 const int stderr_before = dup(STDERR_FILENO);
                 dup2(open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666), STDERR_FILENO);
                 const Logger logger = get_logger("test");
                 logger.info("hidden", {.in_order = true});  // No rank waits for it.
                 logger.warning("once");
                 accelerator.wait_for_everyone();
                 for (int round = 0; round < 5; ++round) logger.error("turn", {.in_order = true});
                 logger.error("all", {.main_process_only = false});
                 dup2(stderr_before, STDERR_FILENO);
               },
               {{"ACCELERATE_LOG_LEVEL", "Warning"}});
  if (!is_parent) return;
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(log)) {
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(
        line, parts, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (\w+) test (.*))")))
        << line;
    lines.push_back(parts.str(1) + " " + parts.str(2));
  }
  std::vector<std::string> expected{"warning [rank 0] once"};
  for (int turn = 0; turn < 15; ++turn) {
    expected.push_back("error [rank " + std::to_string(turn % 3) + "] turn");
  }
  for (int rank = 0; rank < 3; ++rank) {
    expected.push_back("error [rank " + std::to_string(rank) + "] all");
  }
  ASSERT_EQ(lines.size(), expected.size());
  std::sort(lines.end() - 3, lines.end());  // Their order is not defined.
  EXPECT_EQ(lines, expected);
}

TEST(LoggerTest, LevelsAndRepetition) {
  testing::internal::CaptureStderr();
  const Logger logger = get_logger("one");
  logger.debug("quiet");
  logger.info("{not a format}");
  for (int i = 0; i < 3; ++i) get_logger("two").warning_once("rare");
  get_logger("three", Logger::Level::kDebug).debug("asked for");
  logger.critical("in order", {.in_order = true});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::MatchesRegex(".* info one \\{not a format\\}\n.* warning two rare\n"
                                          ".* debug three asked for\n.* critical one in order\n"));
  setenv("ACCELERATE_LOG_LEVEL", "loud", 1);
  EXPECT_THROW(get_logger("four"), std::invalid_argument);
  unsetenv("ACCELERATE_LOG_LEVEL");
}

// The library is built without the assertions of LibTorch's headers. One of them would fail when an
// observer asks for inputs.
TEST(ProfileTest, ObserversSeeTheInputsOfOperators) {
  static std::size_t inputs = 0;
  at::RecordFunctionCallback observer([](const at::RecordFunction& function) {
    if (function.name() == std::string("aten::add")) inputs = function.inputs().size();
    return std::unique_ptr<at::ObserverContext>();
  });
  observer.needsInputs(true).scopes({at::RecordScope::FUNCTION});
  const auto handle = at::addThreadLocalCallback(observer);
  torch::ones({2}).add(torch::ones({2}));
  at::removeCallback(handle);
  EXPECT_EQ(inputs, 3u);  // Two tensors and alpha.
}

}  // namespace
}  // namespace accel::runtime
