#include "runtime/checkpoint/rank_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "accel/errors.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr RankFilesPace kFast{.sign_of_life = milliseconds(5), .silence = milliseconds(200)};
// For ranks that are not lost: their threads may stand still for some seconds.
constexpr RankFilesPace kPatient{.sign_of_life = milliseconds(5), .silence = milliseconds(5000)};

// Notes in memory.
class Notes {
 public:
  RankNotes of_a_rank() {
    return {
        .write =
            [this](const std::string& key, const std::string& text) {
              const std::lock_guard lock(mutex_);
              notes_[key] = text;
              changed_.notify_all();
            },
        .read = [this](const std::string& key, milliseconds limit) -> std::optional<std::string> {
          std::unique_lock lock(mutex_);
          changed_.wait_for(lock, limit, [&] { return notes_.contains(key); });
          const auto found = notes_.find(key);
          return found == notes_.end() ? std::nullopt : std::optional(found->second);
        },
        .remove =
            [this](const std::string& key) {
              const std::lock_guard lock(mutex_);
              notes_.erase(key);
            }};
  }
  std::size_t size() const { return notes_.size(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> notes_;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

WrittenFiles one_file(const std::string& name) { return {{name, {.size = 3, .crc32c = 4}}}; }

TEST(RankFiles, RankZeroGetsTheFilesOfAll) {
  Notes notes;
  std::thread second([&] {
    // Takes longer than a lost rank may be silent.
    report_files(
        notes.of_a_rank(), 2,
        [&] {
          constexpr int kBeats = kPatient.silence / kPatient.sign_of_life + 200;
          const RankNotes mine = notes.of_a_rank();
          while (std::stoi(mine.read("life_2", kPatient.sign_of_life).value_or("0")) < kBeats) {
            std::this_thread::sleep_for(kPatient.sign_of_life);
          }
          return one_file("model/b");
        },
        kPatient);
  });
  report_files(
      notes.of_a_rank(), 1, [] { return one_file("model/a"); }, kPatient);
  const WrittenFiles all = collect_files(notes.of_a_rank(), 3, kPatient);
  second.join();
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("model/b").size, 3u);
  EXPECT_EQ(notes.size(), 0u);
}

TEST(RankFiles, AnErrorOfARankIsTheErrorOfAll) {
  Notes notes;
  const auto full = [&] {
    report_files(
        notes.of_a_rank(), 1, []() -> WrittenFiles { throw CheckpointError("x: no space left"); },
        kFast);
  };
  EXPECT_EQ(error_of(full), "x: no space left");
  EXPECT_EQ(error_of([&] { collect_files(notes.of_a_rank(), 2, kFast); }),
            "rank 1: x: no space left");
}

// Rank 0 would otherwise wait until the rank counts as lost.
TEST(RankFiles, ASignOfLifeThatFailsIsTheErrorOfAll) {
  Notes notes;
  RankNotes failing = notes.of_a_rank();
  failing.write = [write = failing.write](const std::string& key, const std::string& text) {
    if (key == "life_1") throw CheckpointError("connection reset");
    write(key, text);
  };
  const auto report = [&] {
    const auto slow = [&] {
      // Ends only once rank 0 has the report, so the report does not wait for the files.
      notes.of_a_rank().read("report_1", kPatient.silence);
      return one_file("model/a");
    };
    report_files(failing, 1, slow, kPatient);
  };
  EXPECT_EQ(error_of(report), "connection reset");
  EXPECT_EQ(error_of([&] { collect_files(notes.of_a_rank(), 2, kFast); }),
            "rank 1: connection reset");
}

TEST(RankFiles, AnErrorThatCannotBeReportedIsRethrown) {
  RankNotes failing;
  failing.write = [](const std::string&, const std::string&) {
    throw CheckpointError("connection reset");
  };
  EXPECT_EQ(error_of([&] {
              report_files(
                  failing, 1, []() -> WrittenFiles { throw CheckpointError("no space left"); },
                  kFast);
            }),
            "no space left");
}

TEST(RankFiles, ARankThatIsSilentIsLost) {
  Notes notes;
  notes.of_a_rank().write("life_1", "7");
  EXPECT_THAT(error_of([&] { collect_files(notes.of_a_rank(), 2, kFast); }),
              HasSubstr("rank 1: was lost"));
}

TEST(RankFiles, TwoRanksWriteDifferentFiles) {
  Notes notes;
  for (const int rank : {1, 2}) {
    report_files(
        notes.of_a_rank(), rank, [] { return one_file("model/a"); }, kFast);
  }
  EXPECT_THAT(error_of([&] { collect_files(notes.of_a_rank(), 3, kFast); }),
              HasSubstr("rank 2: has written another rank's model/a"));
}

}  // namespace
}  // namespace accel::runtime
