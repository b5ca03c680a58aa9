// Frames that agents and shims of other builds send. shim/testdata has their bytes. A frame is
// understood, or it is refused as one of another version, and its job is then left alone
// (docs/decisions/0033).
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "common/status_matchers.h"
#include "shim/channel.h"
#include "shim/core/codec.h"
#include "shim/core/wire.h"
#include "shim/frame_file.h"

namespace accel::shim {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = GenerationReport::State;
using Kind = ExitFact::Kind;

class FrameVersionsTest : public ::testing::Test {
 protected:
  absl::StatusOr<ShimCommand> Command(const std::string& bytes) {
    const absl::StatusOr<Frame> frame = DecodeFrame(bytes);
    if (!frame.ok()) return frame.status();
    return DecodeCommand(frame->type, frame->payload);
  }
  absl::StatusOr<ShimMessage> Message(const std::string& bytes) {
    const absl::StatusOr<Frame> frame = DecodeFrame(bytes);
    if (!frame.ok()) return frame.status();
    return DecodeMessage(frame->type, frame->payload);
  }

  // Checks what the start has in both files.
  static void CheckStart(const StartCommand& start) {
    EXPECT_EQ(start.id, kId);
    EXPECT_THAT(start.argv, ElementsAre("/bin/train", "--lr=1"));
    ASSERT_EQ(start.workers.size(), 2u);
    EXPECT_EQ(start.workers[1].rank, 3);
    EXPECT_EQ(start.workers[1].local_rank, 1);
    EXPECT_THAT(start.workers[1].env, ElementsAre("RANK=3"));
    EXPECT_EQ(start.log_dir, "/logs/2");
    EXPECT_EQ(start.memory_cgroup, "/mem/2");
    EXPECT_EQ(start.orphan_grace, absl::Seconds(5));
    EXPECT_EQ(start.log_limits.stream_bytes, 4096);
    EXPECT_TRUE(start.keep_without_agent);
    EXPECT_EQ(start.stop_on_disconnect_after, absl::Seconds(60));
  }

  // Checks what the reports have in both files, apart from the ends.
  static void CheckReport(const GenerationReport& report) {
    EXPECT_EQ(report.id, kId);
    ASSERT_EQ(report.workers.size(), 2u);
    EXPECT_EQ(report.workers[0].pid, 4711);
    EXPECT_FALSE(report.workers[0].exit.has_value());
    EXPECT_EQ(report.workers[1].rank, 3);
    EXPECT_EQ(report.workers[1].start_time_ticks, 100u);
    EXPECT_THAT(report.workers[1].last_lines, ElementsAre("step 7"));
    EXPECT_EQ(report.log_dir, "/logs/2");
    EXPECT_EQ(report.orphan_grace, absl::Seconds(5));
  }

  static inline const common::GenerationId kId{common::JobId("a0x1k9fq"), 2};
  std::map<std::string, std::string> older_ = ReadFrames("shim/testdata/older_frames.txt");
  std::map<std::string, std::string> newer_ = ReadFrames("shim/testdata/newer_frames.txt");
};

TEST_F(FrameVersionsTest, AShimUnderstandsAnOlderAgent) {
  ASSERT_OK_AND_ASSIGN(const ShimCommand start, Command(older_["start"]));
  CheckStart(std::get<StartCommand>(start));
  EXPECT_FALSE(std::get<StartCommand>(start).report_checkpoints);
  EXPECT_EQ(std::get<StartCommand>(start).hang_timeout, absl::ZeroDuration());
  ASSERT_OK_AND_ASSIGN(const ShimCommand stop, Command(older_["stop"]));
  EXPECT_EQ(std::get<StopCommand>(stop).id, kId);
  EXPECT_EQ(std::get<StopCommand>(stop).grace, absl::Seconds(30));
  ASSERT_OK_AND_ASSIGN(const ShimCommand end, Command(older_["end"]));
  EXPECT_TRUE(std::holds_alternative<EndCommand>(end));
  ASSERT_OK_AND_ASSIGN(const ShimCommand contact, Command(older_["contact"]));
  EXPECT_TRUE(std::holds_alternative<ContactCommand>(contact));
}

TEST_F(FrameVersionsTest, AShimUnderstandsALaterAgent) {
  ASSERT_OK_AND_ASSIGN(const ShimCommand start, Command(newer_["start"]));
  CheckStart(std::get<StartCommand>(start));
  EXPECT_TRUE(std::get<StartCommand>(start).report_checkpoints);
  EXPECT_EQ(std::get<StartCommand>(start).hang_timeout, absl::Seconds(30));
  ASSERT_OK_AND_ASSIGN(const ShimCommand stop, Command(newer_["stop"]));
  EXPECT_EQ(std::get<StopCommand>(stop).grace, absl::Seconds(30));
  ASSERT_OK_AND_ASSIGN(const ShimCommand end, Command(newer_["end"]));
  EXPECT_TRUE(std::holds_alternative<EndCommand>(end));
  ASSERT_OK_AND_ASSIGN(const ShimCommand contact, Command(newer_["contact"]));
  EXPECT_TRUE(std::holds_alternative<ContactCommand>(contact));
  ASSERT_OK_AND_ASSIGN(const ShimCommand unknown, Command(newer_["unknown_frame"]));
  EXPECT_TRUE(std::holds_alternative<UnknownFrame>(unknown));
}

TEST_F(FrameVersionsTest, AnAgentUnderstandsAnOlderShim) {
  ASSERT_OK_AND_ASSIGN(const ShimMessage message, Message(older_["report"]));
  const auto& report = std::get<GenerationReport>(message);
  CheckReport(report);
  EXPECT_EQ(report.state, State::kStopping);
  EXPECT_EQ(report.workers[1].exit->kind, Kind::kSignalled);
  EXPECT_EQ(report.workers[1].exit->signal, 11);
  EXPECT_TRUE(report.workers[1].exit->core_dumped);
  EXPECT_EQ(report.workers[1].ended_at, absl::Time()) << "not known";
  EXPECT_EQ(report.failure->kind, Kind::kAbandoned);
  EXPECT_EQ(report.failure->message, "no contact for 1m");
  EXPECT_TRUE(report.shim_is_leaving);
  EXPECT_EQ(report.checkpoints, 0);
  ASSERT_OK_AND_ASSIGN(const ShimMessage hello, Message(older_["hello"]));
  EXPECT_EQ(std::get<ShimHello>(hello).job, kId.job);
  EXPECT_EQ(std::get<ShimHello>(hello).pid, 4700);
  EXPECT_EQ(std::get<ShimHello>(hello).generation, 2);
}

TEST_F(FrameVersionsTest, AnAgentUnderstandsALaterShim) {
  ASSERT_OK_AND_ASSIGN(const ShimMessage message, Message(newer_["report"]));
  const auto& report = std::get<GenerationReport>(message);
  CheckReport(report);
  EXPECT_EQ(report.state, State::kRunning);
  EXPECT_EQ(report.workers[1].ended_at, absl::FromUnixMicros(1'234'567));
  EXPECT_FALSE(report.failure.has_value());
  EXPECT_EQ(report.checkpoints, 3);
  EXPECT_EQ(report.refused_peers, 5);
  ASSERT_OK_AND_ASSIGN(const ShimMessage hello, Message(newer_["hello"]));
  EXPECT_EQ(std::get<ShimHello>(hello).pid, 4700);
  ASSERT_OK_AND_ASSIGN(const ShimMessage unknown, Message(newer_["unknown_frame"]));
  EXPECT_TRUE(std::holds_alternative<UnknownFrame>(unknown));
}

// The facts beside the unknown kind are kept, so that a person can read them.
TEST_F(FrameVersionsTest, EndsOfUnknownKindsAreEnds) {
  ASSERT_OK_AND_ASSIGN(const ShimMessage message, Message(newer_["report_of_unknown_ends"]));
  const auto& report = std::get<GenerationReport>(message);
  CheckReport(report);
  EXPECT_EQ(report.state, State::kEnded);
  EXPECT_EQ(report.workers[1].exit->kind, Kind::kUnknown);
  EXPECT_EQ(report.workers[1].exit->code, 5);
  EXPECT_EQ(report.workers[1].exit->message, "was moved to another node");
  EXPECT_FALSE(report.workers[1].exit->ok());
  EXPECT_EQ(report.failure->kind, Kind::kUnknown);
}

TEST_F(FrameVersionsTest, WhatCannotBeUnderstoodIsAnErrorThatSaysSo) {
  EXPECT_THAT(Message(older_["report_of_version_2"]),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("The other side has version 2 of the shim protocol, this one "
                                 "version 3")));
  EXPECT_THAT(Message(newer_["hello_of_version_4"]),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has version 4")));
  EXPECT_THAT(
      Message(newer_["report_in_an_unknown_state"]),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("agent and shim do not match")));
}

// An older reader stops after the fields that it knows, so today's frames begin as the older ones.
TEST_F(FrameVersionsTest, AnOlderShimUnderstandsTodaysCommands) {
  for (const char* name : {"start", "stop", "end", "contact"}) {
    ASSERT_OK_AND_ASSIGN(const Frame older, DecodeFrame(older_[name]));
    ASSERT_OK_AND_ASSIGN(const ShimCommand command, Command(older_[name]));
    EXPECT_TRUE(absl::StartsWith(EncodeCommand(command), older.payload)) << name;
  }
}

TEST_F(FrameVersionsTest, AnOlderAgentUnderstandsTodaysMessages) {
  ASSERT_OK_AND_ASSIGN(const Frame hello, DecodeFrame(older_["hello"]));
  ASSERT_OK_AND_ASSIGN(const ShimMessage read, Message(older_["hello"]));
  EXPECT_TRUE(absl::StartsWith(EncodeHello(std::get<ShimHello>(read)), hello.payload));
  // Reads a report as the first build with this version does.
  ASSERT_OK_AND_ASSIGN(const ShimMessage message, Message(older_["report"]));
  const std::string today = EncodeReport(std::get<GenerationReport>(message));
  WireReader in(today);
  EXPECT_EQ(in.String(), "a0x1k9fq");
  EXPECT_EQ(in.I32(), 2);
  EXPECT_EQ(in.U8(), 2) << "STOPPING";
  ASSERT_EQ(in.Length(33), 2u);
  for (const int rank : {2, 3}) {
    WireReader worker = in.Record();
    EXPECT_EQ(worker.I32(), rank);
    EXPECT_EQ(worker.I32(), rank - 2);
    EXPECT_EQ(worker.I64(), 4709 + rank);
    EXPECT_EQ(worker.U64(), 97u + static_cast<uint64_t>(rank));
    EXPECT_EQ(worker.Bool(), rank == 3);
    EXPECT_TRUE(worker.ok());
  }
  EXPECT_TRUE(in.Bool()) << "the failure";
  EXPECT_EQ(in.U8(), 4) << "abandoned";
  in.I32();
  in.I32();
  in.Bool();
  in.Bool();
  EXPECT_EQ(in.String(), "no contact for 1m");
  EXPECT_EQ(in.String(), "/logs/2");
  EXPECT_EQ(in.I64(), 5'000'000'000);
  EXPECT_TRUE(in.Bool()) << "leaves";
  EXPECT_TRUE(in.ok());
}

}  // namespace
}  // namespace accel::shim
