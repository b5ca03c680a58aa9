#include "runtime/comm/call_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

struct Lines {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> text;

  std::string await(const std::string& key) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return text.count(key) > 0; });
    return text[key];
  }
};

struct FakeBoard : KeyValueBoard {
  explicit FakeBoard(std::shared_ptr<Lines> shared) : lines(std::move(shared)) {}
  void append(const std::string& key, const std::string& line) override {
    const std::lock_guard lock(lines->mutex);
    lines->text[key] += line;
    lines->changed.notify_all();
  }
  std::string read(const std::string& key) override {
    const std::lock_guard lock(lines->mutex);
    return lines->text[key];
  }
  std::shared_ptr<Lines> lines;
};

struct BrokenBoard : KeyValueBoard {
  void append(const std::string&, const std::string&) override { throw std::runtime_error("gone"); }
  std::string read(const std::string&) override { throw std::runtime_error("gone"); }
};

TEST(CallWatchTest, TheBoardIsReadLineByLine) {
  EXPECT_THAT(parse_board("1 gather\n0 reduce (all_reduce)\n"),
              ElementsAre(Pair(0, "reduce (all_reduce)"), Pair(1, "gather")));
  EXPECT_TRUE(parse_board("").empty());
  EXPECT_THAT(parse_board("x\n7\n\n3 barrier"), ElementsAre(Pair(3, "barrier")));
}

TEST(CallWatchTest, NamesTheRanksThatAreMissing) {
  EXPECT_EQ(describe_missing_ranks(2, "gather", {{0, "gather"}, {1, "gather"}}), "");
  EXPECT_EQ(describe_missing_ranks(3, "gather", {{0, "gather"}, {2, "reduce"}}),
            "rank 1 has not called it; rank 2 called reduce instead");
}

TEST(CallWatchTest, ALongCallIsAnnouncedAndAShortOneIsNot) {
  auto lines = std::make_shared<Lines>();
  CallWatch watch(1, 2, std::make_unique<FakeBoard>(lines), {.announce_after = milliseconds(1)});
  watch.begin("gather");
  EXPECT_EQ(lines->await("call_1"), "1 gather\n");
  watch.end();
  CallWatch patient(0, 2, std::make_unique<FakeBoard>(lines),
                    {.announce_after = milliseconds(60000)});
  patient.begin("barrier");
  patient.end();
  EXPECT_EQ(lines->text.size(), 1u);
}

TEST(CallWatchTest, AFailedCallIsAnnouncedAtOnceAndExplained) {
  auto lines = std::make_shared<Lines>();
  CallWatch::Pace pace{.announce_after = milliseconds(60000), .grace = milliseconds(50)};
  CallWatch watch(0, 3, std::make_unique<FakeBoard>(lines), pace);
  watch.begin("barrier");
  watch.end();
  watch.begin("gather");
  FakeBoard(lines).append("call_2", "2 gather\n");
  EXPECT_EQ(watch.explain(watch.current()), "rank 1 has not called it");
  FakeBoard(lines).append("call_2", "1 reduce\n");
  EXPECT_EQ(watch.explain(watch.current()), "rank 1 called reduce instead");
}

TEST(CallWatchTest, ACancelledCallGivesItsNumberToTheNext) {
  auto lines = std::make_shared<Lines>();
  CallWatch watch(0, 2, std::make_unique<FakeBoard>(lines),
                  {.announce_after = milliseconds(1), .grace = milliseconds(0)});
  watch.begin("backward");
  EXPECT_EQ(lines->await("call_1"), "0 backward\n");
  watch.cancel();
  watch.begin("gather");
  EXPECT_EQ(watch.current().number, 1u);
  FakeBoard(lines).append("call_1", "1 gather\n");
  EXPECT_EQ(watch.explain(watch.current()), "");
}

TEST(CallWatchTest, ALostRankIsNotWaitedFor) {
  auto lines = std::make_shared<Lines>();
  CallWatch watch(0, 3, std::make_unique<FakeBoard>(lines),
                  {.announce_after = milliseconds(60000), .grace = milliseconds(60000)});
  watch.begin("gather");
  FakeBoard(lines).append("call_1", "2 gather\n");
  EXPECT_EQ(watch.explain(watch.current(), [] { return 1; }), "rank 1 has not called it");
}

TEST(CallWatchTest, ANotedFailureIsNamedInThePeersNextError) {
  auto lines = std::make_shared<Lines>();
  CallWatch::Pace pace{.announce_after = milliseconds(60000), .grace = milliseconds(50)};
  CallWatch main(0, 2, std::make_unique<FakeBoard>(lines), pace);
  CallWatch other(1, 2, std::make_unique<FakeBoard>(lines), pace);
  main.note_failure("on_main_process, which threw: disk\nfull");
  other.begin("gather");
  EXPECT_EQ(other.explain(other.current()),
            "rank 0 called on_main_process, which threw: disk full instead");
}

TEST(CallWatchTest, IfTheBoardIsGoneNoRankIsNamed) {
  CallWatch watch(0, 2, std::make_unique<BrokenBoard>(), {.announce_after = milliseconds(1)});
  watch.begin("gather");
  EXPECT_EQ(watch.explain(watch.current()), "");
}

}  // namespace
}  // namespace accel::runtime
