#include "shim/core/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

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
  start.keep_without_agent = true;
  start.stop_on_disconnect_after = absl::Seconds(7);
  start.report_checkpoints = true;
  start.hang_timeout = absl::Seconds(30);
  start.pids_cgroup = "/pids";
  start.max_processes = 300;
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
  report.workers[1].ended_at = absl::FromUnixMicros(1'234'567);
  report.workers[1].exit = ExitFact{ExitFact::Kind::kSignalled, 0, 9, true, true, ""};
  report.workers[0].exit = ExitFact{ExitFact::Kind::kHung, 0, 0, false, false, "has hung"};
  report.workers[2].exit = ExitFact{ExitFact::Kind::kExited, 255, 0, false, false, ""};
  report.failure = ExitFact{ExitFact::Kind::kNotStarted, 127, 0, false, false, "not found"};
  report.log_dir = "/logs/3";
  report.orphan_grace = absl::Seconds(5);
  report.shim_is_leaving = true;
  report.checkpoints = 3;
  report.refused_peers = 5;
  return report;
}

ShimHello FullHello() { return {common::JobId("job-1"), 4711, UINT64_MAX, "0.1.0", 3}; }

absl::StatusOr<GenerationReport> DecodeReport(absl::string_view payload) {
  absl::StatusOr<ShimMessage> message = DecodeMessage(FrameType::kReport, payload);
  if (!message.ok()) return message.status();
  return std::get<GenerationReport>(*std::move(message));
}

// A record of `fields`, and after them a field that only a newer release knows.
std::string Longer(std::string fields) {
  WireWriter out;
  out.String("a new field");
  return fields + out.Take();
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
  EXPECT_TRUE(start.keep_without_agent);
  EXPECT_EQ(start.stop_on_disconnect_after, absl::Seconds(7));
  EXPECT_TRUE(start.report_checkpoints);
  EXPECT_EQ(start.hang_timeout, absl::Seconds(30));
  EXPECT_EQ(start.pids_cgroup, sent.pids_cgroup);
  EXPECT_EQ(start.max_processes, 300);
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
  const auto contact = DecodeCommand(FrameType::kContact, EncodeCommand(ContactCommand()));
  ASSERT_OK(contact);
  EXPECT_TRUE(std::holds_alternative<ContactCommand>(*contact));
}

TEST(CodecTest, ReportSurvives) {
  const GenerationReport sent = FullReport();
  const auto report = DecodeReport(EncodeReport(sent));
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
    EXPECT_EQ(report->workers[i].ended_at, sent.workers[i].ended_at);
    ExpectSame(report->workers[i].exit, sent.workers[i].exit);
  }
  ExpectSame(report->failure, sent.failure);
  EXPECT_EQ(report->log_dir, sent.log_dir);
  EXPECT_EQ(report->orphan_grace, sent.orphan_grace);
  EXPECT_TRUE(report->shim_is_leaving);
  EXPECT_EQ(report->checkpoints, sent.checkpoints);
  EXPECT_EQ(report->refused_peers, sent.refused_peers);
}

TEST(CodecTest, HelloSurvives) {
  const auto message = DecodeMessage(FrameType::kHello, EncodeHello(FullHello()));
  ASSERT_OK(message);
  const auto& hello = std::get<ShimHello>(*message);
  EXPECT_EQ(hello.job, FullHello().job);
  EXPECT_EQ(hello.pid, 4711);
  EXPECT_EQ(hello.start_time_ticks, UINT64_MAX);
  EXPECT_EQ(hello.release, "0.1.0");
  EXPECT_EQ(hello.generation, 3);
}

// An older release ignores what a newer one has appended, in messages and in the elements of lists.
TEST(CodecTest, AppendedFieldsAreIgnored) {
  EXPECT_OK(DecodeCommand(FrameType::kStart, Longer(EncodeCommand(FullStart()))));
  EXPECT_OK(DecodeCommand(FrameType::kEnd, Longer("")));
  EXPECT_OK(DecodeReport(Longer(EncodeReport(FullReport()))));
  EXPECT_OK(DecodeMessage(FrameType::kHello, Longer(EncodeHello(FullHello()))));

  WireWriter report;
  report.String("job-1");
  report.I32(3);
  report.U8(static_cast<uint8_t>(GenerationReport::State::kRunning));
  report.U32(2);
  for (int rank : {4, 5}) {
    WireWriter worker;
    worker.I32(rank);
    worker.I32(rank - 4);
    worker.I64(100 + rank);
    worker.U64(7);
    worker.Bool(false);  // No exit.
    worker.Strings({});  // No lines.
    worker.I64(0);       // No time of an end.
    worker.String("new");
    report.Record(std::move(worker));
  }
  report.Bool(false);  // No failure.
  const auto decoded = DecodeReport(report.Take());
  ASSERT_OK(decoded);
  ASSERT_EQ(decoded->workers.size(), 2u);
  EXPECT_EQ(decoded->workers[1].rank, 5);
  EXPECT_EQ(decoded->workers[1].pid, 105);
  // A newer release gives its defaults to what this older one has not sent.
  EXPECT_EQ(decoded->log_dir, "");
  EXPECT_FALSE(decoded->shim_is_leaving);
}

TEST(CodecTest, MissingAppendedFieldsHaveDefaults) {
  StartCommand start = FullStart();
  std::string payload = EncodeCommand(start);
  payload.resize(payload.size() - 8);  // Without max_processes.
  auto command = DecodeCommand(FrameType::kStart, payload);
  ASSERT_OK(command);
  EXPECT_EQ(std::get<StartCommand>(*command).pids_cgroup, "/pids");
  EXPECT_EQ(std::get<StartCommand>(*command).max_processes, 0);
  payload.resize(payload.size() - 9 - 8);  // Without hang_timeout and pids_cgroup.
  command = DecodeCommand(FrameType::kStart, payload);
  ASSERT_OK(command);
  EXPECT_EQ(std::get<StartCommand>(*command).pids_cgroup, "");
  EXPECT_TRUE(std::get<StartCommand>(*command).report_checkpoints);
  EXPECT_EQ(std::get<StartCommand>(*command).hang_timeout, absl::ZeroDuration());
  payload.resize(payload.size() - 1 - 8);  // Without stop_on_disconnect_after and what follows.
  command = DecodeCommand(FrameType::kStart, payload);
  ASSERT_OK(command);
  EXPECT_TRUE(std::get<StartCommand>(*command).keep_without_agent);
  EXPECT_EQ(std::get<StartCommand>(*command).stop_on_disconnect_after, absl::InfiniteDuration());
  payload.resize(payload.size() - 1);  // And without keep_without_agent.
  command = DecodeCommand(FrameType::kStart, payload);
  ASSERT_OK(command);
  EXPECT_FALSE(std::get<StartCommand>(*command).keep_without_agent);
}

TEST(CodecTest, UnknownTypesAndKindsAreNoErrors) {
  const auto command = DecodeCommand(static_cast<FrameType>(77), "anything");
  ASSERT_OK(command);
  EXPECT_TRUE(std::holds_alternative<UnknownFrame>(*command));
  const auto message = DecodeMessage(static_cast<FrameType>(77), "anything");
  ASSERT_OK(message);
  EXPECT_TRUE(std::holds_alternative<UnknownFrame>(*message));
  GenerationReport report = FullReport();
  report.failure->kind = static_cast<ExitFact::Kind>(99);
  const auto decoded = DecodeReport(EncodeReport(report));
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->failure->kind, ExitFact::Kind::kUnknown);
}

TEST(CodecTest, TypesOfTheOtherDirectionAreRefused) {
  EXPECT_THAT(DecodeCommand(FrameType::kReport, EncodeReport(FullReport())).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type 4")));
  EXPECT_FALSE(DecodeMessage(FrameType::kStart, EncodeCommand(FullStart())).ok());
}

// Except for a truncation exactly before an appended field, which looks like an older message.
TEST(CodecTest, EveryTruncationIsRefused) {
  const std::string start = EncodeCommand(FullStart());
  for (size_t size = 0; size < start.size(); ++size) {
    if (std::set<size_t>{8, 17, 25, 26, 34, 35}.contains(start.size() - size)) continue;
    // A copy of exactly this size, so that the address sanitizer detects a read beyond it.
    const std::vector<char> cut(start.begin(), start.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodeCommand(FrameType::kStart, {cut.data(), cut.size()}).ok()) << size;
  }
  const std::string report = EncodeReport(FullReport());
  // From the end: refused_peers, checkpoints, leaving, orphan_grace, log_dir.
  const std::set<size_t> appended = {8, 8 + 8, 8 + 8 + 1, 8 + 8 + 1 + 8, 8 + 8 + 1 + 8 + 4 + 7};
  for (size_t size = 0; size < report.size(); ++size) {
    if (appended.contains(report.size() - size)) continue;
    const std::vector<char> cut(report.begin(), report.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodeReport({cut.data(), cut.size()}).ok()) << size;
  }
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
      DecodeReport(changed).status().IgnoreError();
    }
  }
}

TEST(CodecTest, ARefusalQuotesAJobThatIsNoName) {
  StartCommand start = FullStart();
  start.workers.clear();
  start.id.job = common::JobId("\x1b[2J\xff" + std::string(10'000, 'x'));
  const auto command = DecodeCommand(FrameType::kStart, EncodeCommand(start));
  EXPECT_THAT(command, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("job \\x1b[2J")));
  EXPECT_LT(command.status().message().size(), 200u);
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
