#include "shim/core/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "shim/core/wire.h"

namespace accel::shim {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

StartCommand FullStart() {
  StartCommand start;
  start.id = {common::JobId("job-1"), 3};
  start.argv = {"python", "-u", "train.py", ""};
  start.workdir = "/work";
  start.required_paths = {"/work", "/work/train.py"};
  start.workers = {{4, 0, {"RANK=4", "A="}}, {5, 1, {"RANK=5"}}};
  start.serves_store = true;
  start.store_peers = {"127.0.0.1", "::1"};
  start.log_dir = "/logs/3";
  start.spill_dir = "/memory/3";
  start.cgroup = "/sys/fs/cgroup/accel/job-1-3";
  start.memory_cgroup = "/sys/fs/cgroup/memory/accel/job-1-3";
  start.orphan_grace = absl::Milliseconds(1500);
  start.log_limits = {10, 100};
  return start;
}

GenerationReport FullReport() {
  GenerationReport report;
  report.id = {common::JobId("job-1"), 3};
  report.state = GenerationReport::State::kStopping;
  report.workers.resize(3);
  report.workers[1].rank = 5;
  report.workers[1].local_rank = 1;
  report.workers[1].pid = int64_t{1} << 40;
  report.workers[1].start_time_ticks = UINT64_MAX;
  report.workers[1].last_lines = {"first", ""};
  report.workers[1].exit = ExitFact{ExitFact::Kind::kSignalled, 0, 9, true, true, ""};
  report.workers[2].exit = ExitFact{ExitFact::Kind::kExited, 255, 0, false, false, ""};
  report.failure = ExitFact{ExitFact::Kind::kNotStarted, 127, 0, false, false, "not found"};
  return report;
}

void ExpectSame(const std::optional<ExitFact>& a, const std::optional<ExitFact>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->kind, b->kind);
  EXPECT_EQ(a->code, b->code);
  EXPECT_EQ(a->signal, b->signal);
  EXPECT_EQ(a->core_dumped, b->core_dumped);
  EXPECT_EQ(a->out_of_memory, b->out_of_memory);
  EXPECT_EQ(a->message, b->message);
}

TEST(CodecTest, StartSurvives) {
  const StartCommand sent = FullStart();
  const auto command = DecodeCommand(FrameType::kStart, EncodeCommand(sent));
  ASSERT_OK(command);
  const auto& start = std::get<StartCommand>(*command);
  EXPECT_EQ(start.id, sent.id);
  EXPECT_EQ(start.argv, sent.argv);
  EXPECT_EQ(start.workdir, sent.workdir);
  EXPECT_EQ(start.required_paths, sent.required_paths);
  ASSERT_EQ(start.workers.size(), 2u);
  EXPECT_EQ(start.workers[0].env, sent.workers[0].env);
  EXPECT_EQ(start.workers[1].rank, 5);
  EXPECT_EQ(start.workers[1].local_rank, 1);
  EXPECT_EQ(start.serves_store, true);
  EXPECT_EQ(start.store_peers, sent.store_peers);
  EXPECT_EQ(start.log_dir, sent.log_dir);
  EXPECT_EQ(start.spill_dir, sent.spill_dir);
  EXPECT_EQ(start.cgroup, sent.cgroup);
  EXPECT_EQ(start.memory_cgroup, sent.memory_cgroup);
  EXPECT_EQ(start.keep_stdin, false);
  EXPECT_EQ(start.orphan_grace, sent.orphan_grace);
  EXPECT_EQ(start.log_limits.segment_bytes, 10);
  EXPECT_EQ(start.log_limits.stream_bytes, 100);
}

TEST(CodecTest, StopAndEndSurvive) {
  for (absl::Duration grace :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Hours(1), absl::InfiniteDuration()}) {
    const StopCommand sent = {{common::JobId("job"), 1}, grace};
    const auto command = DecodeCommand(FrameType::kStop, EncodeCommand(sent));
    ASSERT_OK(command);
    EXPECT_EQ(std::get<StopCommand>(*command).id, sent.id);
    EXPECT_EQ(std::get<StopCommand>(*command).grace, grace);
  }
  const auto end = DecodeCommand(FrameType::kEnd, EncodeCommand(EndCommand()));
  ASSERT_OK(end);
  EXPECT_TRUE(std::holds_alternative<EndCommand>(*end));
}

TEST(CodecTest, ReportSurvives) {
  const GenerationReport sent = FullReport();
  const auto report = DecodeReport(FrameType::kReport, EncodeReport(sent));
  ASSERT_OK(report);
  EXPECT_EQ(report->id, sent.id);
  EXPECT_EQ(report->state, sent.state);
  ASSERT_EQ(report->workers.size(), 3u);
  for (int i : {0, 1, 2}) {
    EXPECT_EQ(report->workers[i].rank, sent.workers[i].rank);
    EXPECT_EQ(report->workers[i].local_rank, sent.workers[i].local_rank);
    EXPECT_EQ(report->workers[i].pid, sent.workers[i].pid);
    EXPECT_EQ(report->workers[i].start_time_ticks, sent.workers[i].start_time_ticks);
    EXPECT_EQ(report->workers[i].last_lines, sent.workers[i].last_lines);
    ExpectSame(report->workers[i].exit, sent.workers[i].exit);
  }
  ExpectSame(report->failure, sent.failure);
}

TEST(CodecTest, TypesOfTheOtherDirectionAndUnknownOnesAreRefused) {
  EXPECT_FALSE(DecodeCommand(FrameType::kReport, EncodeReport(FullReport())).ok());
  EXPECT_FALSE(DecodeReport(FrameType::kStart, EncodeCommand(FullStart())).ok());
  EXPECT_THAT(DecodeCommand(static_cast<FrameType>(77), "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("77")));
}

TEST(CodecTest, EveryTruncationIsRefused) {
  const std::string start = EncodeCommand(FullStart());
  for (size_t size = 0; size < start.size(); ++size) {
    // A copy of exactly this size, so that the address sanitizer detects a read beyond it.
    const std::vector<char> cut(start.begin(), start.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodeCommand(FrameType::kStart, {cut.data(), cut.size()}).ok()) << size;
  }
  const std::string report = EncodeReport(FullReport());
  for (size_t size = 0; size < report.size(); ++size) {
    const std::vector<char> cut(report.begin(), report.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodeReport(FrameType::kReport, {cut.data(), cut.size()}).ok()) << size;
  }
}

TEST(CodecTest, TrailingBytesAreRefused) {
  EXPECT_FALSE(DecodeCommand(FrameType::kStart, EncodeCommand(FullStart()) + '\0').ok());
  EXPECT_FALSE(DecodeCommand(FrameType::kEnd, "x").ok());
  EXPECT_FALSE(DecodeReport(FrameType::kReport, EncodeReport(FullReport()) + '\0').ok());
}

// After a change of any byte the result is an error or some message, but never a crash or a huge
// allocation. The test expects nothing of the result, because most changes yield another valid
// message. It fails if the process dies, and under the sanitizers by any access beyond the bytes.
TEST(CodecTest, NoChangedByteCrashesTheDecoder) {
  const std::string start = EncodeCommand(FullStart());
  const std::string report = EncodeReport(FullReport());
  for (int value : {0, 1, 0x7F, 0x80, 0xFF}) {
    for (size_t i = 0; i < start.size(); ++i) {
      std::string changed = start;
      changed[i] = static_cast<char>(value);
      DecodeCommand(FrameType::kStart, changed).status().IgnoreError();
    }
    for (size_t i = 0; i < report.size(); ++i) {
      std::string changed = report;
      changed[i] = static_cast<char>(value);
      DecodeReport(FrameType::kReport, changed).status().IgnoreError();
    }
  }
}

TEST(CodecTest, Contradictions) {
  const auto refused = [](const std::function<void(StartCommand*)>& change) {
    StartCommand start = FullStart();
    change(&start);
    const auto command = DecodeCommand(FrameType::kStart, EncodeCommand(start));
    return std::string(command.status().message());
  };
  EXPECT_THAT(refused([](auto* start) { start->workers.clear(); }), HasSubstr("no worker"));
  EXPECT_THAT(refused([](auto* start) { start->workers.resize(kMaxWorkers + 1); }),
              HasSubstr("too many workers"));
  EXPECT_THAT(refused([](auto* start) { start->argv.clear(); }), HasSubstr("no program"));
  EXPECT_THAT(refused([](auto* start) { start->argv[0] = ""; }), HasSubstr("no program"));
  EXPECT_THAT(refused([](auto* start) { start->log_dir = ""; }), HasSubstr("no log folder"));
  EXPECT_THAT(refused([](auto* start) { start->keep_stdin = true; }), HasSubstr("standard input"));
  EXPECT_THAT(refused([](auto* start) { start->log_limits.segment_bytes = 0; }),
              HasSubstr("log limits"));
  EXPECT_THAT(refused([](auto* start) { start->argv[1] = std::string("a\0b", 3); }),
              HasSubstr("malformed"));
  EXPECT_THAT(refused([](auto* start) { start->id.generation = 0; }), HasSubstr("malformed"));
  EXPECT_THAT(refused([](auto* start) { start->id.job = common::JobId(); }),
              HasSubstr("malformed"));
  EXPECT_THAT(refused([](auto* start) { start->workers[0].rank = -1; }), HasSubstr("malformed"));
  EXPECT_THAT(refused([](auto* start) { start->orphan_grace = -absl::Seconds(1); }),
              HasSubstr("malformed"));
}

TEST(WireTest, LengthsBeyondWhatIsThereAllocateNothing) {
  WireWriter out;
  out.U32(UINT32_MAX);
  const std::string bytes = out.Take();
  WireReader strings(bytes), string(bytes);
  EXPECT_TRUE(strings.Strings().empty());
  EXPECT_FALSE(strings.ok());
  EXPECT_EQ(string.String(), "");
  EXPECT_FALSE(string.ok());
}

}  // namespace
}  // namespace accel::shim
