#include "agent/log_source.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "logs/log_test_folder.h"

namespace accel::agent {
namespace {

class LogSourceTest : public logs::LogTest {
 protected:
  std::unique_ptr<LogSource> Open() {
    return LogSource::Open(rank_dir(), v1::STDOUT, asked_, [] { return false; }).value();
  }

  // Reads all that there is. Positions go to next_.
  std::string ReadAll(LogSource* source) {
    std::string text;
    while (const auto chunk = source->Next()) text += Take(*chunk);
    return text;
  }

  std::string Take(const v1::LogChunk& chunk) {
    EXPECT_GE(chunk.offset(), next_);
    EXPECT_GE(chunk.next_offset(), chunk.offset() + static_cast<int64_t>(chunk.data().size()));
    EXPECT_LE(chunk.data().size(), size_t{64} << 10);
    next_ = chunk.next_offset();
    return chunk.gap_bytes() > 0 ? absl::StrCat("#", chunk.gap_bytes(), "#", chunk.data())
                                 : chunk.data();
  }

  v1::LogReader asked_;
  int64_t next_ = 0;
};

TEST_F(LogSourceTest, SendsAllAndThenWhatIsAdded) {
  WriteSegment(0, "one\ntw");
  const auto source = Open();
  EXPECT_EQ(ReadAll(source.get()), "one\ntw");
  EXPECT_EQ(next_, 6);
  WriteSegment(0, "o\n");
  EXPECT_EQ(ReadAll(source.get()), "o\n");
  EXPECT_FALSE(source->Rest().has_value());
}

TEST_F(LogSourceTest, ResumesInTheMiddleOfALine) {
  WriteSegment(0, "one\ntwo\n");
  asked_.set_stdout_offset(5);
  asked_.mutable_selection()->set_tail(0);  // This was for the first start only.
  EXPECT_EQ(ReadAll(Open().get()), "wo\n");
}

TEST_F(LogSourceTest, SendsTheLastLinesAndSaysWhereTheyBegan) {
  WriteSegment(0, "one\ntwo\nthree\n");
  asked_.mutable_selection()->set_tail(1);
  const auto source = Open();
  const auto first = source->Next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(Take(*first), "");
  EXPECT_EQ(next_, 8) << "a reader that resumes must not look for the last lines again";
  EXPECT_EQ(ReadAll(source.get()), "three\n");
  asked_.mutable_selection()->set_tail(0);
  next_ = 0;
  EXPECT_EQ(ReadAll(Open().get()), "");
  EXPECT_EQ(next_, 14);
}

TEST_F(LogSourceTest, OnlyLinesThatMatchTravelAndTheRestIsNotReadAgain) {
  WriteSegment(0, "loss 1\nnoise\nloss 2\nlo");
  asked_.mutable_selection()->set_grep("loss");
  const auto source = Open();
  EXPECT_EQ(ReadAll(source.get()), "loss 1\nloss 2\n");
  EXPECT_EQ(next_, 20) << "the unfinished line must be read again";
  WriteSegment(0, "ss 3");
  EXPECT_EQ(ReadAll(source.get()), "");
  const auto rest = source->Rest();
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(Take(*rest), "loss 3");
  EXPECT_EQ(next_, 26);
}

TEST_F(LogSourceTest, AFilteredGapIsCounted) {
  WriteSegment(0, "loss 1\nlos");
  WriteSegment(100, "s 2\nloss 3\n");
  asked_.mutable_selection()->set_grep("loss");
  EXPECT_EQ(ReadAll(Open().get()), "loss 1\n#90#loss 3\n");
}

TEST_F(LogSourceTest, ALongSearchWithoutAMatchSendsItsPosition) {
  std::string noise;
  while (noise.size() < (3 << 20)) noise += "noise\n";
  WriteSegment(0, noise);
  asked_.mutable_selection()->set_grep("loss");
  EXPECT_EQ(ReadAll(Open().get()), "");
  EXPECT_GE(next_, 2 << 20);
}

TEST_F(LogSourceTest, TheLastMatchesAreFound) {
  WriteSegment(0, "loss 1\nnoise\nloss 2\nnoise\nloss 3\nnoise\n");
  asked_.mutable_selection()->set_grep("loss");
  asked_.mutable_selection()->set_tail(2);
  EXPECT_EQ(ReadAll(Open().get()), "loss 2\nloss 3\n");
}

TEST_F(LogSourceTest, ABadExpressionIsAnError) {
  asked_.mutable_selection()->set_grep("(");
  EXPECT_THAT(
      LogSource::Open(rank_dir(), v1::STDOUT, asked_, [] { return false; }).status(),
      testing::StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("regular")));
}

}  // namespace
}  // namespace accel::agent
