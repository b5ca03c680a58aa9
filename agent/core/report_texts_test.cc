#include "agent/core/report_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Returns a generation whose ranks have all failed, each with 20 lines of about 200 bytes.
v1::ObservedGeneration Failed(int ranks) {
  v1::ObservedGeneration generation;
  generation.set_job_id("job");
  generation.set_state(v1::ObservedGeneration::ENDED);
  generation.mutable_failure()->set_message(std::string(4096, 'w'));
  for (int rank = 0; rank < ranks; ++rank) {
    v1::ObservedWorker* worker = generation.add_workers();
    worker->set_rank(rank);
    worker->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
    worker->mutable_exit()->set_code(rank % 256);
    for (int line = 0; line < 19; ++line) worker->add_last_lines(std::string(200, 'x'));
    worker->add_last_lines("the end of " + std::to_string(rank));
  }
  return generation;
}

int64_t BytesOfAll(const std::vector<v1::ObservedGeneration>& generations) {
  int64_t bytes = 0;
  for (const v1::ObservedGeneration& each : generations) bytes += TextBytes(each);
  return bytes;
}

std::vector<v1::ObservedGeneration*> Pointers(std::vector<v1::ObservedGeneration>* generations) {
  std::vector<v1::ObservedGeneration*> pointers;
  for (v1::ObservedGeneration& each : *generations) pointers.push_back(&each);
  return pointers;
}

TEST(TextBytes, IsAtLeastTheSizeOfTheTextsInAMessage) {
  const v1::ObservedGeneration with = Failed(8);
  std::vector<v1::ObservedGeneration> without = {with};
  ShortenTexts(1 << 30, Pointers(&without));
  EXPECT_EQ(TextBytes(without[0]), 0);
  EXPECT_GE(TextBytes(with), static_cast<int64_t>(with.ByteSizeLong() - without[0].ByteSizeLong()));
}

TEST(ShortenTexts, DoesNothingWithoutExcess) {
  std::vector<v1::ObservedGeneration> generations = {Failed(2)};
  EXPECT_FALSE(ShortenTexts(0, Pointers(&generations)));
  EXPECT_THAT(generations[0].workers(1).last_lines(), SizeIs(20));
}

TEST(ShortenTexts, TheOldestGoFirstAndKeepTheirLastLineAndTheOriginAll) {
  std::vector<v1::ObservedGeneration> generations = {Failed(3), Failed(2)};
  EXPECT_TRUE(ShortenTexts(1, Pointers(&generations)));
  // Rank 0 has exited with 0, so it is not the origin of the failure.
  EXPECT_THAT(generations[0].workers(0).last_lines(), SizeIs(2));
  EXPECT_THAT(generations[0].workers(1).last_lines(), SizeIs(20));
  EXPECT_THAT(generations[0].workers(2).last_lines(),
              ElementsAre(HasSubstr("left out"), "the end of 2"));
  EXPECT_LE(generations[0].failure().message().size(), 256u);
  EXPECT_THAT(generations[1].workers(1).last_lines(), SizeIs(20));
  EXPECT_EQ(generations[1].failure().message().size(), 4096u);
}

// All results that a node can hold while the coordinator is down.
TEST(ShortenTexts, SixtyFourGenerationsOfSixtyFourRanksFitAnywhere) {
  const std::vector<v1::ObservedGeneration> full(64, Failed(64));
  ASSERT_GT(BytesOfAll(full), 15 << 20);
  for (const int64_t most : {8 << 20, 1 << 20, 100 << 10, 1 << 10, 0}) {
    std::vector<v1::ObservedGeneration> generations = full;
    ShortenTexts(BytesOfAll(full) - most, Pointers(&generations));
    EXPECT_LE(BytesOfAll(generations), most);
    for (const v1::ObservedGeneration& each : generations) {
      ASSERT_EQ(each.state(), v1::ObservedGeneration::ENDED);
      ASSERT_EQ(each.workers(63).exit().code(), 63);
    }
  }
}

TEST(ShortenTexts, ShortTailsStayWhole) {
  v1::ObservedGeneration generation;
  generation.add_workers()->add_last_lines("one");
  generation.mutable_workers(0)->add_last_lines("two");
  std::vector<v1::ObservedGeneration> generations = {generation, Failed(1)};
  ShortenTexts(1, Pointers(&generations));
  EXPECT_THAT(generations[0].workers(0).last_lines(), ElementsAre("one", "two"));
}

}  // namespace
}  // namespace accel::agent
