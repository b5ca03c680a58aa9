#include "coordinator/log_pipe.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace accel::coordinator {
namespace {

v1::LogChunk Chunk(const std::string& id, const std::string& data, bool end = false) {
  v1::LogChunk chunk;
  chunk.set_reader_id(id);
  if (!data.empty()) chunk.set_stream(v1::STDERR);
  chunk.set_data(data);
  chunk.set_end(end);
  // Every chunk begins where the last one ended, as those of a real relay do.
  static int64_t offset = 0;
  chunk.set_offset(offset);
  offset += static_cast<int64_t>(data.size());
  return chunk;
}

v1::LogChunk Output(const std::string& id, int64_t offset, const std::string& data) {
  v1::LogChunk chunk = Chunk(id, data);
  chunk.set_stream(v1::STDOUT);
  chunk.set_offset(offset);
  return chunk;
}

class LogPipeTest : public ::testing::Test {
 protected:
  // Makes relays of ranks 1, 2...
  void Expect(const std::vector<std::string>& ids) {
    std::vector<v1::LogReader> relays;
    for (const std::string& id : ids) {
      v1::LogReader& relay = relays.emplace_back();
      relay.set_reader_id(id);
      relay.set_rank(static_cast<int>(relays.size()));
    }
    pipe_.Expect(relays);
  }
  void Pull() {
    pipe_.Pull([this](std::optional<v1::LogChunk> chunk, absl::Status end) {
      if (chunk.has_value()) {
        read_.push_back(chunk->reader_id() + ":" + chunk->data() + chunk->error());
        ranks_.push_back(chunk->rank());
      } else {
        ends_.push_back(end.code());
      }
    });
  }
  // Pushes a chunk. The answer is added to taken_.
  void Push(v1::LogChunk chunk) {
    pipe_.Push(std::move(chunk), [this](bool more) { taken_.push_back(more); });
  }

  LogPipe pipe_;
  std::vector<std::string> read_;
  std::vector<int> ranks_;
  std::vector<absl::StatusCode> ends_;
  std::vector<bool> taken_;
};

TEST_F(LogPipeTest, ARelayWaitsForTheReader) {
  Expect({"a", "b"});
  ASSERT_TRUE(pipe_.Open("a"));
  ASSERT_TRUE(pipe_.Open("b"));
  Push(Chunk("a", "1"));
  Push(Chunk("b", "2"));
  EXPECT_TRUE(taken_.empty());
  Pull();
  EXPECT_EQ(read_, std::vector<std::string>{"a:1"});
  EXPECT_EQ(taken_, std::vector<bool>{true});
  Pull();
  Pull();
  Push(Chunk("a", "3"));
  EXPECT_EQ(read_, (std::vector<std::string>{"a:1", "b:2", "a:3"}));
}

TEST_F(LogPipeTest, EndsWhenEveryRelayHas) {
  Expect({"a", "b"});
  ASSERT_TRUE(pipe_.Open("a"));
  Push(Chunk("a", "1", true));
  Pull();
  Pull();
  EXPECT_TRUE(ends_.empty());  // The relay of b has not been opened yet.
  ASSERT_TRUE(pipe_.Open("b"));
  Push(Chunk("b", "2", true));
  EXPECT_TRUE(ends_.empty());
  Pull();
  EXPECT_EQ(read_, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(ends_, std::vector<absl::StatusCode>{absl::StatusCode::kOk});
}

TEST_F(LogPipeTest, WhatIsNotExpectedIsRefused) {
  EXPECT_FALSE(pipe_.Open("a"));
  Expect({"a"});
  EXPECT_TRUE(pipe_.Open("a"));
  EXPECT_FALSE(pipe_.Open("a"));
  EXPECT_FALSE(pipe_.Open("b"));
  Push(Chunk("b", "x"));
  EXPECT_EQ(taken_, std::vector<bool>{false});
}

TEST_F(LogPipeTest, ABrokenRelayIsShownOnce) {
  Expect({"a", "b"});
  ASSERT_TRUE(pipe_.Open("a"));
  pipe_.Close("a", "broken");
  pipe_.Close("a", "again");
  pipe_.Close("b", "never came");
  Pull();
  Pull();
  Pull();
  EXPECT_EQ(read_, (std::vector<std::string>{"a:broken", "b:never came"}));
  EXPECT_EQ(ranks_, (std::vector<int>{1, 2}));
  EXPECT_EQ(ends_, std::vector<absl::StatusCode>{absl::StatusCode::kOk});
  Push(Chunk("a", "late"));
  EXPECT_EQ(taken_, std::vector<bool>{false});
}

// The client gets each byte once, although the relay had sent one chunk that was never pulled.
TEST_F(LogPipeTest, AReplacedRelayResumesAfterWhatWasPulled) {
  Expect({"a"});
  ASSERT_TRUE(pipe_.Open("a"));
  Push(Output("a", 0, "one"));
  Pull();
  Push(Output("a", 3, "two"));
  const auto resumed = pipe_.Resume("a", "b");
  ASSERT_TRUE(resumed.has_value());
  EXPECT_EQ(resumed->reader_id(), "b");
  EXPECT_EQ(resumed->stdout_offset(), 3);
  EXPECT_FALSE(resumed->has_stderr_offset());
  EXPECT_EQ(taken_, (std::vector<bool>{true, false}));
  Push(Output("a", 3, "two"));  // The old relay does not know yet.
  EXPECT_EQ(taken_, (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(pipe_.Open("a"));
  ASSERT_TRUE(pipe_.Open("b"));
  Pull();
  Push(Output("b", 3, "two"));
  EXPECT_EQ(read_, (std::vector<std::string>{"a:one", "b:two"}));
}

TEST_F(LogPipeTest, AChunkThatWouldDoubleLinesIsRefused) {
  Expect({"a"});
  ASSERT_TRUE(pipe_.Open("a"));
  Pull();
  Push(Output("a", 10, "one"));
  Push(Output("a", 12, "e, two"));
  v1::LogChunk negative = Output("a", 13, "x");
  negative.set_gap_bytes(-1);
  Push(negative);
  EXPECT_EQ(taken_, (std::vector<bool>{true, false, false}));
}

TEST_F(LogPipeTest, LinesThatWereLeftOutAreNotReadAgain) {
  Expect({"a"});
  ASSERT_TRUE(pipe_.Open("a"));
  Pull();
  v1::LogChunk chunk = Output("a", 10, "one");
  chunk.set_next_offset(1000);
  Push(chunk);
  EXPECT_EQ(pipe_.Resume("a", "b")->stdout_offset(), 1000);
}

TEST_F(LogPipeTest, AFinishedRelayIsNotResumed) {
  Expect({"a"});
  ASSERT_TRUE(pipe_.Open("a"));
  Push(Chunk("a", "", true));
  EXPECT_FALSE(pipe_.Resume("a", "b").has_value());
  EXPECT_FALSE(pipe_.Resume("unknown", "b").has_value());
}

TEST_F(LogPipeTest, NoticesArriveAndAreBoundedIfNobodyPulls) {
  Expect({"a"});
  for (int i = 0; i < 100; ++i) pipe_.Notify("a", "away");
  ASSERT_TRUE(pipe_.Open("a"));
  for (int i = 0; i < 100; ++i) Pull();
  EXPECT_GE(read_.size(), 1u);
  EXPECT_LE(read_.size(), 5u);
  Push(Chunk("a", "", true));
  pipe_.Notify("a", "too late");
  EXPECT_LE(read_.size(), 6u);
}

TEST_F(LogPipeTest, AReaderThatGoesAwayStopsTheRelays) {
  Expect({"a", "b"});
  ASSERT_TRUE(pipe_.Open("a"));
  Push(Chunk("a", "1"));
  pipe_.Cancel();
  EXPECT_EQ(taken_, std::vector<bool>{false});
  EXPECT_FALSE(pipe_.Open("b"));
  Push(Chunk("a", "2"));
  EXPECT_EQ(taken_, (std::vector<bool>{false, false}));
  Pull();
  EXPECT_EQ(ends_, std::vector<absl::StatusCode>{absl::StatusCode::kCancelled});
}

}  // namespace
}  // namespace accel::coordinator
