// The trackers of a run: order of calls, failures that lose only their values, and mistakes.
#include "runtime/tracking/tracker_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Records its calls, and throws while `fails` is set.
class RecordingTracker : public Tracker {
 public:
  std::string name() const override { return "recording"; }
  void store_init_configuration(const TrackedValues& config) override {
    record("config of " + std::to_string(config.size()));
  }
  void log(const TrackedValues& values, std::optional<std::int64_t> step) override {
    record(values.begin()->first + (step ? " at " + std::to_string(*step) : ""));
  }
  void finish() override { record("finish"); }

  bool fails = false;
  std::vector<std::string> calls;

 private:
  void record(const std::string& call) {
    if (fails) throw std::runtime_error("the service is down");
    calls.push_back(call);
  }
};

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "tracker_set" / name;
  fs::remove_all(folder);
  return folder;
}

std::vector<json> lines_of(const fs::path& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(TrackerSetTest, CallsEachTrackerInOrder) {
  const auto own = std::make_shared<RecordingTracker>();
  TrackerSet trackers({own}, true);
  trackers.start("", {{"rate", 0.1}});
  trackers.log({{"loss", 1.5}}, 3);
  trackers.log({{"accuracy", 0.5f}}, std::nullopt);
  EXPECT_EQ(&trackers.get("recording"), own.get());
  trackers.finish();
  EXPECT_THAT(own->calls, ElementsAre("config of 1", "loss at 3", "accuracy", "finish"));
}

TEST(TrackerSetTest, AFailureIsLoggedOnceAndLosesOnlyItsValues) {
  const fs::path folder = fresh_folder("failure");
  const auto own = std::make_shared<RecordingTracker>();
  TrackerSet trackers({own, "jsonl"}, true);
  testing::internal::CaptureStderr();
  trackers.start(folder, {});
  own->fails = true;
  trackers.log({{"loss", 2}}, 1);
  trackers.log({{"loss", 1}}, 2);
  own->fails = false;
  trackers.log({{"loss", 0}}, 3);
  trackers.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "accel: tracker recording: the service is down; training continues\n"
            "accel: tracker recording lost the values of 2 calls\n");
  EXPECT_THAT(own->calls, ElementsAre("config of 0", "loss at 3", "finish"));
  EXPECT_EQ(lines_of(folder / "metrics.jsonl").size(), 4u);
}

// Throws what is no std::exception.
class OddTracker : public RecordingTracker {
 public:
  void log(const TrackedValues&, std::optional<std::int64_t>) override { throw 7; }
};

TEST(TrackerSetTest, AFailureOfAnyTypeLosesOnlyItsValues) {
  const auto own = std::make_shared<OddTracker>();
  TrackerSet trackers({own}, true);
  trackers.start("", {});
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(trackers.log({{"loss", 2}}, 1));
  trackers.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "accel: tracker recording: threw an exception that is no std::exception; training "
            "continues\n"
            "accel: tracker recording lost the values of 1 calls\n");
  EXPECT_THAT(own->calls, ElementsAre("config of 0", "finish"));
}

TEST(TrackerSetTest, AFolderThatCannotBeMadeDoesNotEndTraining) {
  const fs::path file = fresh_folder("file");
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "no folder";
  TrackerSet trackers({"tensorboard", "jsonl"}, true);
  testing::internal::CaptureStderr();
  trackers.start(file / "run", {{"rate", 0.1}});
  trackers.log({{"loss", 2}}, 1);
  trackers.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  for (const char* name : {"tensorboard", "jsonl"}) {
    EXPECT_THAT(said, HasSubstr("tracker " + std::string(name) + " lost the values of 2 calls"));
  }
  EXPECT_THAT(said, HasSubstr(file.string()));
}

TEST(TrackerSetTest, JsonLinesKeepEveryValueAndContinueAfterARestart) {
  const fs::path folder = fresh_folder("lines");
  TrackerSet first({"jsonl"}, true);
  first.start(folder, {{"rate", 0.1}, {"name", "a \"b\"\n"}, {"nesterov", true}, {"batch", 64u}});
  const double exact = 0.1 + 0.2, infinity = std::numeric_limits<double>::infinity();
  first.log({{"loss", exact}, {"nan", std::nan("")}, {"low", -infinity}, {"text\xff", "x"}}, 7);
  std::ofstream(folder / "metrics.jsonl", std::ios::app)
      << "{\"time\":17";  // Killed during a write.
  TrackerSet second({"jsonl"}, true);
  second.start(folder, {});
  second.log({{"loss", 1}}, std::nullopt);

  const std::vector<json> lines = lines_of(folder / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["config"],
            (json{{"rate", 0.1}, {"name", "a \"b\"\n"}, {"nesterov", true}, {"batch", 64}}));
  EXPECT_EQ(lines[1]["step"], 7);
  EXPECT_EQ(lines[1]["values"]["loss"].get<double>(), exact);
  EXPECT_EQ(lines[1]["values"]["nan"], "NaN");
  EXPECT_EQ(lines[1]["values"]["low"], "-Infinity");
  EXPECT_EQ(lines[1]["values"]["text\uFFFD"], "x");
  EXPECT_EQ(lines[2]["config"], json::object());
  EXPECT_FALSE(lines[3].contains("step"));
  EXPECT_GT(lines[3]["time"].get<double>(), 1.7e9);
}

TEST(TrackerSetTest, AMissingFolderLeavesTheRunAsItWas) {
  const fs::path folder = fresh_folder("missing");
  const auto own = std::make_shared<RecordingTracker>();
  TrackerSet trackers({own, "jsonl"}, true);
  EXPECT_THAT(error_of([&] { trackers.start("", {}); }), HasSubstr("project_dir"));
  EXPECT_EQ(error_of([&] { trackers.finish(); }), "");
  EXPECT_THAT(own->calls, IsEmpty());
  trackers.start(folder, {});
  EXPECT_THAT(error_of([&] { trackers.start("", {}); }), HasSubstr("project_dir"));
  trackers.log({{"loss", 1}}, 1);
  trackers.finish();
  EXPECT_THAT(own->calls, ElementsAre("config of 0", "loss at 1", "finish"));
  EXPECT_EQ(lines_of(folder / "metrics.jsonl").size(), 2u);
}

TEST(TrackerSetTest, OtherProcessesWriteNothing) {
  const fs::path folder = fresh_folder("silent");
  TrackerSet trackers({"jsonl", "tensorboard"}, false);
  trackers.start(folder, {});
  trackers.log({{"loss", 1}}, 1);
  trackers.get("jsonl").log({{"loss", 1}}, 1);
  trackers.finish();
  EXPECT_FALSE(fs::exists(folder));
}

TEST(TrackerSetTest, MistakesAreNamed) {
  EXPECT_THAT(error_of([] { TrackerSet({"wandb"}, false); }), HasSubstr("\"wandb\" should be"));
  EXPECT_THAT(error_of([] { TrackerSet({"jsonl", "jsonl"}, true); }), HasSubstr("jsonl twice"));
  TrackerSet trackers({"jsonl"}, true);
  EXPECT_THAT(error_of([&] { trackers.log({}, 1); }),
              HasSubstr("call init_trackers() before log()"));
  EXPECT_THAT(error_of([&] { trackers.start("", {}); }), HasSubstr("project_dir"));
  EXPECT_THAT(error_of([&] { trackers.get("tensorboard"); }), HasSubstr("it has jsonl"));
  TrackerSet none({}, true);
  none.log({{"loss", 1}}, 1);  // No tracker, no error.
}

}  // namespace
}  // namespace accel::runtime
