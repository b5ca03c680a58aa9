#include "logs/core/output_queue.h"

#include <gtest/gtest.h>

#include <utility>

namespace accel::logs {
namespace {

class OutputQueueTest : public ::testing::Test {
 protected:
  // Takes the next batch, marks it done, and returns it as text: its stream, its bytes, and the
  // number of bytes dropped after them.
  std::string Next() {
    auto batch = queue_.Take();
    if (!batch) return "";
    std::string text = std::to_string(batch->stream) + ":" + batch->bytes;
    if (batch->dropped > 0) text += "#" + std::to_string(batch->dropped);
    if (batch->last) text += ".";
    queue_.Done(*std::move(batch));
    return text;
  }

  OutputQueue queue_{4};
};

TEST_F(OutputQueueTest, StreamsTakeTurnsAndKeepTheirOrder) {
  const int one = queue_.Open(), two = queue_.Open();
  queue_.Add(one, "a");
  queue_.Add(two, "x");
  queue_.Add(one, "b");
  EXPECT_EQ(Next(), "0:ab");
  queue_.Add(one, "c");
  EXPECT_EQ(Next(), "1:x");
  EXPECT_EQ(Next(), "0:c");
  EXPECT_EQ(Next(), "");
}

TEST_F(OutputQueueTest, WhatIsBeingWrittenTakesRoomToo) {
  const int stream = queue_.Open();
  EXPECT_TRUE(queue_.has_room());
  queue_.Add(stream, "abcdef");
  EXPECT_FALSE(queue_.has_room());
  auto batch = queue_.Take();
  EXPECT_FALSE(queue_.has_room());
  EXPECT_FALSE(queue_.Handled(stream, 1));
  queue_.Done(*std::move(batch));
  EXPECT_TRUE(queue_.has_room());
  EXPECT_TRUE(queue_.Handled(stream, 6));
  EXPECT_EQ(queue_.bytes(), 0u);
}

TEST_F(OutputQueueTest, AGapIsOneAndNothingComesBeforeIt) {
  const int stream = queue_.Open();
  queue_.Add(stream, "ab");
  queue_.Drop(stream, 3);
  queue_.Add(stream, "cd");  // Dropped, because its place is inside the gap.
  EXPECT_EQ(queue_.received(stream), 7);
  EXPECT_EQ(Next(), "0:ab#5");
  EXPECT_TRUE(queue_.Handled(stream, 7));
  queue_.Add(stream, "e");
  EXPECT_EQ(Next(), "0:e");
}

TEST_F(OutputQueueTest, BytesThatComeDuringAWriteAreNotHandledWithIt) {
  const int stream = queue_.Open();
  queue_.Add(stream, "ab");
  auto batch = queue_.Take();
  queue_.Add(stream, "cd");
  queue_.Done(*std::move(batch));
  EXPECT_TRUE(queue_.Handled(stream, 2));
  EXPECT_FALSE(queue_.Handled(stream, 3));
  EXPECT_EQ(Next(), "0:cd");
}

TEST_F(OutputQueueTest, AClosedStreamEndsBehindItsBytesAndIsForgotten) {
  const int stream = queue_.Open();
  queue_.Add(stream, "ab");
  queue_.Close(stream);
  EXPECT_FALSE(queue_.Handled(stream, 2));
  EXPECT_EQ(Next(), "0:ab.");
  EXPECT_TRUE(queue_.Handled(stream, 2));
  const int silent = queue_.Open();
  EXPECT_NE(silent, stream);
  queue_.Close(silent);
  EXPECT_EQ(Next(), "1:.");
}

}  // namespace
}  // namespace accel::logs
