#include "shim/core/codec.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "shim/core/wire.h"

namespace accel::shim {
namespace {

// The minimum size of one element of each list: its length and its fixed part, with empty strings.
constexpr size_t kLeastWorkerStart = 16;
constexpr size_t kLeastWorkerReport = 33;

void WriteId(const common::GenerationId& id, WireWriter* out) {
  out->String(id.job.value());
  out->I32(id.generation);
}

common::GenerationId ReadId(WireReader* in) {
  common::GenerationId id;
  id.job = common::JobId(in->String());
  id.generation = in->I32();
  if (id.generation < 1 || id.job.empty()) in->Fail();
  return id;
}

void WriteDuration(absl::Duration duration, WireWriter* out) {
  out->I64(absl::ToInt64Nanoseconds(duration));
}

// Reads a duration in nanoseconds. A negative one is invalid, and the largest number stands for
// an infinite one.
absl::Duration ReadDuration(WireReader* in) {
  const int64_t nanoseconds = in->I64();
  if (nanoseconds < 0) in->Fail();
  if (nanoseconds == INT64_MAX) return absl::InfiniteDuration();
  return absl::Nanoseconds(nanoseconds);
}

int ReadRank(WireReader* in) {
  const int32_t rank = in->I32();
  if (rank < 0) in->Fail();
  return rank;
}

void WriteStart(const StartCommand& start, WireWriter* out) {
  WriteId(start.id, out);
  out->Strings(start.argv);
  out->String(start.workdir);
  out->Strings(start.required_paths);
  out->U32(static_cast<uint32_t>(start.workers.size()));
  for (const WorkerStart& worker : start.workers) {
    WireWriter fields;
    fields.I32(worker.rank);
    fields.I32(worker.local_rank);
    fields.Strings(worker.env);
    out->Record(std::move(fields));
  }
  out->Bool(start.serves_store);
  out->Strings(start.store_peers);
  out->String(start.log_dir);
  out->String(start.spill_dir);
  out->String(start.cgroup);
  out->String(start.memory_cgroup);
  out->Bool(start.keep_stdin);
  WriteDuration(start.orphan_grace, out);
  out->I64(start.log_limits.segment_bytes);
  out->I64(start.log_limits.stream_bytes);
  out->Bool(start.keep_without_agent);
  WriteDuration(start.stop_on_disconnect_after, out);
  out->Bool(start.report_checkpoints);
  WriteDuration(start.hang_timeout, out);
  out->String(start.pids_cgroup);
  out->I64(start.max_processes);
}

WorkerStart ReadWorkerStart(WireReader* in) {
  WorkerStart worker;
  worker.rank = ReadRank(in);
  worker.local_rank = ReadRank(in);
  worker.env = in->Strings();
  return worker;
}

// Reads a list of records, each with `read`.
template <typename Element>
std::vector<Element> ReadList(size_t least_bytes, Element (*read)(WireReader*), WireReader* in) {
  std::vector<Element> list;
  const size_t count = in->Length(least_bytes);
  for (size_t i = 0; i < count && in->ok(); ++i) {
    WireReader record = in->Record();
    list.push_back(read(&record));
    if (!record.ok()) in->Fail();
  }
  return list;
}

StartCommand ReadStart(WireReader* in) {
  StartCommand start;
  start.id = ReadId(in);
  start.argv = in->Strings();
  start.workdir = in->String();
  start.required_paths = in->Strings();
  start.workers = ReadList(kLeastWorkerStart, ReadWorkerStart, in);
  start.serves_store = in->Bool();
  start.store_peers = in->Strings();
  start.log_dir = in->String();
  start.spill_dir = in->String();
  start.cgroup = in->String();
  start.memory_cgroup = in->String();
  start.keep_stdin = in->Bool();
  start.orphan_grace = ReadDuration(in);
  start.log_limits.segment_bytes = in->I64();
  start.log_limits.stream_bytes = in->I64();
  // The fields from here on were appended to version 3.
  if (in->HasMore()) start.keep_without_agent = in->Bool();
  if (in->HasMore()) start.stop_on_disconnect_after = ReadDuration(in);
  if (in->HasMore()) start.report_checkpoints = in->Bool();
  if (in->HasMore()) start.hang_timeout = ReadDuration(in);
  if (in->HasMore()) start.pids_cgroup = in->String();
  if (in->HasMore()) start.max_processes = in->I64();
  return start;
}

absl::Status CheckStart(const StartCommand& start) {
  const char* contradiction = nullptr;
  if (start.workers.empty()) contradiction = "no worker";
  if (start.workers.size() > kMaxWorkers) contradiction = "too many workers";
  if (start.argv.empty() || start.argv[0].empty()) contradiction = "no program";
  if (start.log_dir.empty()) contradiction = "no log folder";
  if (start.max_processes < 0) contradiction = "a limit of processes below 0";
  if (start.keep_stdin && start.workers.size() != 1) {
    contradiction = "standard input to keep for more than one worker";
  }
  if (start.log_limits.segment_bytes < 1 || start.log_limits.stream_bytes < 1) {
    contradiction = "log limits below 1";
  }
  if (contradiction == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "A start of generation ", start.id.generation, " of job ",
      common::Shortened(common::Printable(start.id.job.value()), 64), " has ", contradiction, "."));
}

void WriteExit(const std::optional<ExitFact>& exit, WireWriter* out) {
  out->Bool(exit.has_value());
  if (!exit.has_value()) return;
  out->U8(static_cast<uint8_t>(exit->kind));
  out->I32(exit->code);
  out->I32(exit->signal);
  out->Bool(exit->core_dumped);
  out->Bool(exit->out_of_memory);
  out->String(exit->message);
}

std::optional<ExitFact> ReadExit(WireReader* in) {
  if (!in->Bool()) return std::nullopt;
  ExitFact exit;
  const uint8_t kind = in->U8();
  const bool known = kind <= static_cast<uint8_t>(ExitFact::Kind::kHung);
  exit.kind = known ? static_cast<ExitFact::Kind>(kind) : ExitFact::Kind::kUnknown;
  exit.code = in->I32();
  exit.signal = in->I32();
  exit.core_dumped = in->Bool();
  exit.out_of_memory = in->Bool();
  exit.message = in->String();
  return exit;
}

WorkerReport ReadWorkerReport(WireReader* in) {
  WorkerReport worker;
  worker.rank = ReadRank(in);
  worker.local_rank = ReadRank(in);
  worker.pid = in->I64();
  worker.start_time_ticks = in->U64();
  worker.exit = ReadExit(in);
  worker.last_lines = in->Strings();
  // The fields from here on were appended to version 3.
  if (in->HasMore()) worker.ended_at = absl::FromUnixMicros(in->I64());
  return worker;
}

GenerationReport ReadReport(WireReader* in) {
  GenerationReport report;
  report.id = ReadId(in);
  const uint8_t state = in->U8();
  if (state > static_cast<uint8_t>(GenerationReport::State::kEnded)) in->Fail();
  report.state = static_cast<GenerationReport::State>(state);
  report.workers = ReadList(kLeastWorkerReport, ReadWorkerReport, in);
  report.failure = ReadExit(in);
  // The fields from here on were appended to version 3.
  if (in->HasMore()) report.log_dir = in->String();
  if (in->HasMore()) report.orphan_grace = ReadDuration(in);
  if (in->HasMore()) report.shim_is_leaving = in->Bool();
  if (in->HasMore()) report.checkpoints = in->I64();
  if (in->HasMore()) report.refused_peers = in->I64();
  return report;
}

ShimHello ReadHello(WireReader* in) {
  ShimHello hello;
  hello.job = common::JobId(in->String());
  hello.pid = in->I64();
  hello.start_time_ticks = in->U64();
  hello.release = in->String();
  hello.generation = in->I32();
  if (hello.pid < 1 || hello.pid > INT32_MAX || hello.generation < 0) in->Fail();
  return hello;
}

absl::Status Malformed(const char* what, size_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("A ", what, " of ", size, " bytes is malformed: agent and shim do not match."));
}

}  // namespace

std::string EncodeCommand(const ShimCommand& command) {
  WireWriter out;
  if (const auto* start = std::get_if<StartCommand>(&command)) WriteStart(*start, &out);
  if (const auto* stop = std::get_if<StopCommand>(&command)) {
    WriteId(stop->id, &out);
    WriteDuration(stop->grace, &out);
  }
  return out.Take();
}

absl::StatusOr<ShimCommand> DecodeCommand(FrameType type, absl::string_view payload) {
  WireReader in(payload);
  ShimCommand command = EndCommand();
  switch (type) {
    case FrameType::kStart:
      command = ReadStart(&in);
      break;
    case FrameType::kStop: {
      StopCommand stop;
      stop.id = ReadId(&in);
      stop.grace = ReadDuration(&in);
      command = stop;
      break;
    }
    case FrameType::kEnd:
      break;
    case FrameType::kContact:
      command = ContactCommand();
      break;
    case FrameType::kReport:
    case FrameType::kHello:
    case FrameType::kRefusal:
      return absl::InvalidArgumentError(
          absl::StrCat("A frame of type ", static_cast<int>(type), " is not a command to a shim."));
    default:
      return UnknownFrame();
  }
  if (!in.ok()) return Malformed("command", payload.size());
  if (const auto* start = std::get_if<StartCommand>(&command)) {
    if (absl::Status status = CheckStart(*start); !status.ok()) return status;
  }
  return command;
}

std::string EncodeReport(const GenerationReport& report) {
  WireWriter out;
  WriteId(report.id, &out);
  out.U8(static_cast<uint8_t>(report.state));
  out.U32(static_cast<uint32_t>(report.workers.size()));
  for (const WorkerReport& worker : report.workers) {
    WireWriter fields;
    fields.I32(worker.rank);
    fields.I32(worker.local_rank);
    fields.I64(worker.pid);
    fields.U64(worker.start_time_ticks);
    WriteExit(worker.exit, &fields);
    fields.Strings(worker.last_lines);
    fields.I64(absl::ToUnixMicros(worker.ended_at));
    out.Record(std::move(fields));
  }
  WriteExit(report.failure, &out);
  out.String(report.log_dir);
  WriteDuration(report.orphan_grace, &out);
  out.Bool(report.shim_is_leaving);
  out.I64(report.checkpoints);
  out.I64(report.refused_peers);
  return out.Take();
}

std::string EncodeHello(const ShimHello& hello) {
  WireWriter out;
  out.String(hello.job.value());
  out.I64(hello.pid);
  out.U64(hello.start_time_ticks);
  out.String(hello.release);
  out.I32(hello.generation);
  return out.Take();
}

absl::StatusOr<ShimMessage> DecodeMessage(FrameType type, absl::string_view payload) {
  WireReader in(payload);
  ShimMessage message;
  switch (type) {
    case FrameType::kReport:
      message = ReadReport(&in);
      break;
    case FrameType::kHello:
      message = ReadHello(&in);
      break;
    case FrameType::kRefusal:
      message = ShimRefusal{in.String()};
      break;
    case FrameType::kStart:
    case FrameType::kStop:
    case FrameType::kEnd:
    case FrameType::kContact:
      return absl::InvalidArgumentError(
          absl::StrCat("A frame of type ", static_cast<int>(type), " is not a message of a shim."));
    default:
      return UnknownFrame();
  }
  if (!in.ok()) return Malformed("message", payload.size());
  return message;
}

}  // namespace accel::shim
