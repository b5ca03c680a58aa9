#include "shim/channel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/status_matchers.h"

namespace accel::shim {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() : ends_(MakeChannelSockets()), receiver_(std::move(ends_.second)) {}

  // Sends raw bytes to the receiver.
  void SendRaw(absl::string_view bytes) {
    ASSERT_EQ(send(ends_.first.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  std::pair<common::UniqueFd, common::UniqueFd> ends_;
  Channel receiver_;
  std::vector<Frame> frames_;
};

TEST_F(ChannelTest, FramesArriveWholeAndInOrder) {
  Channel sender(std::move(ends_.first));
  sender.Send(FrameType::kStart, "hello");
  sender.Send(FrameType::kEnd, "");
  EXPECT_FALSE(sender.has_unsent());
  ASSERT_OK(receiver_.Receive(&frames_));
  ASSERT_EQ(frames_.size(), 2u);
  EXPECT_EQ(frames_[0].type, FrameType::kStart);
  EXPECT_EQ(frames_[0].payload, "hello");
  EXPECT_EQ(frames_[1].type, FrameType::kEnd);
  EXPECT_EQ(frames_[1].payload, "");
}

TEST_F(ChannelTest, BytesMayTrickle) {
  const std::string bytes("AS\3\2\3\0\0\0abc", 11);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(frames_.empty());
    SendRaw(bytes.substr(i, 1));
    ASSERT_OK(receiver_.Receive(&frames_));
  }
  ASSERT_EQ(frames_.size(), 1u);
  EXPECT_EQ(frames_[0].payload, "abc");
}

TEST_F(ChannelTest, LargeFramesWaitForRoom) {
  Channel sender(std::move(ends_.first));
  const std::string large(8 << 20, 'x');
  sender.Send(FrameType::kReport, large);
  sender.Send(FrameType::kReport, "small");
  EXPECT_TRUE(sender.has_unsent());
  while (frames_.size() < 2) {
    ASSERT_OK(receiver_.Receive(&frames_));
    sender.Flush();
  }
  EXPECT_FALSE(sender.has_unsent());
  EXPECT_EQ(frames_[0].payload, large);
  EXPECT_EQ(frames_[1].payload, "small");
}

TEST_F(ChannelTest, DescriptorsComeAlong) {
  Channel sender(std::move(ends_.first));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  common::UniqueFd reader(ends[0]);
  sender.Send(FrameType::kStart, "x", common::UniqueFd(ends[1]));
  ASSERT_OK(receiver_.Receive(&frames_));
  common::UniqueFd writer = receiver_.TakeFd();
  ASSERT_TRUE(writer.valid());
  EXPECT_EQ(fcntl(writer.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_FALSE(receiver_.TakeFd().valid());
  writer.reset();
  char byte;
  EXPECT_EQ(read(reader.get(), &byte, 1), 0) << "nobody else holds it";
}

TEST_F(ChannelTest, TooManyDescriptorsAreRefused) {
  Channel sender(std::move(ends_.first));
  for (size_t i = 0; i <= kMaxWaitingFds; ++i) {
    sender.Send(FrameType::kEnd, "", common::UniqueFd(dup(STDERR_FILENO)));
  }
  EXPECT_THAT(receiver_.Receive(&frames_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("descriptors")));
}

TEST_F(ChannelTest, EndOfFileAfterTheLastFrame) {
  SendRaw(absl::string_view("AS\3\3\0\0\0\0", 8));
  ends_.first.reset();
  EXPECT_TRUE(absl::IsUnavailable(receiver_.Receive(&frames_)));
  EXPECT_EQ(frames_.size(), 1u);
}

TEST_F(ChannelTest, EndOfFileWithinAFrame) {
  SendRaw(absl::string_view("AS\3\3\4\0\0\0x", 9));
  ends_.first.reset();
  EXPECT_TRUE(absl::IsUnavailable(receiver_.Receive(&frames_)));
  EXPECT_TRUE(frames_.empty());
}

TEST_F(ChannelTest, OtherProtocols) {
  SendRaw("GET / HTTP/1.1\r\n");
  EXPECT_THAT(receiver_.Receive(&frames_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a frame")));
}

TEST_F(ChannelTest, OtherVersions) {
  SendRaw(absl::string_view("AS\1\3\0\0\0\0", 8));
  EXPECT_THAT(receiver_.Receive(&frames_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has version 1")));
}

TEST_F(ChannelTest, FramesBeyondTheLimit) {
  SendRaw(absl::string_view("AS\3\1\1\0\0\1", 8));  // 16 MiB + 1
  EXPECT_THAT(receiver_.Receive(&frames_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16777217")));
}

TEST(FrameTest, SurvivesAFile) {
  const std::string bytes = EncodeFrame(FrameType::kReport, "hello");
  const auto frame = DecodeFrame(bytes);
  ASSERT_OK(frame);
  EXPECT_EQ(frame->type, FrameType::kReport);
  EXPECT_EQ(frame->payload, "hello");
  EXPECT_FALSE(DecodeFrame(bytes + "x").ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeFrame(bytes.substr(0, size)).ok()) << size;
  }
}

TEST_F(ChannelTest, SendingToAClosedPeerIsNotAnError) {
  Channel sender(std::move(ends_.first));
  { const Channel gone(std::move(receiver_)); }
  sender.Send(FrameType::kEnd, "");
  EXPECT_FALSE(sender.has_unsent());
  EXPECT_TRUE(absl::IsUnavailable(sender.Receive(&frames_)));
}

}  // namespace
}  // namespace accel::shim
