#include "agent/core/conversion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/printable.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxMessageBytes = 4096;

v1::ExitRecord::Kind ToProto(shim::ExitFact::Kind kind) {
  switch (kind) {
    case shim::ExitFact::Kind::kExited:
      return v1::ExitRecord::EXITED;
    case shim::ExitFact::Kind::kSignalled:
      return v1::ExitRecord::SIGNALLED;
    case shim::ExitFact::Kind::kNotStarted:
      return v1::ExitRecord::NOT_STARTED;
    case shim::ExitFact::Kind::kShimDied:
      return v1::ExitRecord::SHIM_DIED;
    case shim::ExitFact::Kind::kAbandoned:
      return v1::ExitRecord::NODE_LOST;
    case shim::ExitFact::Kind::kHung:
      return v1::ExitRecord::HUNG;
    case shim::ExitFact::Kind::kUnknown:
      break;
  }
  return v1::ExitRecord::KIND_UNSPECIFIED;
}

const v1::ObservedWorker* FindRank(const v1::ObservedGeneration& observed, int rank) {
  for (const v1::ObservedWorker& worker : observed.workers()) {
    if (worker.rank() == rank) return &worker;
  }
  return nullptr;
}

template <typename Vars>
void SetAll(const Vars& vars, std::map<std::string, std::string>* env) {
  for (const v1::EnvVar& var : vars) (*env)[var.name()] = var.value();
}

std::map<std::string, std::string> Split(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> env;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals != std::string::npos) env[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return env;
}

absl::Status TooLarge(size_t workers, size_t bytes_each) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the environments of its ", workers, " workers have ", bytes_each, " bytes each, ",
      workers * bytes_each, " together, and one start carries at most ", shim::kMaxPayloadBytes,
      ": pass large values in a file instead of --env, or run fewer processes on a node"));
}

}  // namespace

bool EndsWithAgent(const v1::DesiredGeneration& desired) {
  return desired.on_agent_loss() == v1::END ||
         desired.on_agent_loss() == v1::ON_AGENT_LOSS_UNSPECIFIED;
}

GenerationState ToProto(shim::GenerationReport::State state) {
  switch (state) {
    case shim::GenerationReport::State::kStarting:
      return v1::ObservedGeneration::STARTING;
    case shim::GenerationReport::State::kRunning:
      return v1::ObservedGeneration::RUNNING;
    case shim::GenerationReport::State::kStopping:
      return v1::ObservedGeneration::STOPPING;
    case shim::GenerationReport::State::kEnded:
      return v1::ObservedGeneration::ENDED;
  }
  return v1::ObservedGeneration::STATE_UNSPECIFIED;
}

v1::ExitRecord ToProto(const shim::ExitFact& fact) {
  v1::ExitRecord record;
  record.set_kind(ToProto(fact.kind));
  record.set_code(fact.code);
  record.set_signal(fact.signal);
  record.set_core_dumped(fact.core_dumped);
  record.set_out_of_memory(fact.out_of_memory);
  // The message may quote a path, which can contain any bytes. Making it printable can lengthen it,
  // so it is shortened again.
  record.set_message(common::Shortened(common::Printable(fact.message), kMaxMessageBytes));
  return record;
}

void ToProto(const shim::GenerationReport& report, v1::ObservedGeneration* observed) {
  const v1::ObservedGeneration before = *observed;
  observed->set_state(ToProto(report.state));
  observed->clear_workers();
  for (const shim::WorkerReport& worker : report.workers) {
    const v1::ObservedWorker* known = FindRank(before, worker.rank);
    v1::ObservedWorker* to = observed->add_workers();
    if (known != nullptr && known->has_exit()) {
      *to = *known;
      continue;
    }
    to->set_rank(worker.rank);
    to->set_local_rank(worker.local_rank);
    to->set_pid(worker.pid);
    to->set_start_time_ticks(worker.start_time_ticks);
    if (worker.exit.has_value()) {
      *to->mutable_exit() = ToProto(*worker.exit);
      to->set_ended_us(absl::ToUnixMicros(worker.ended_at));
    }
    for (const std::string& line : worker.last_lines) to->add_last_lines(line);
  }
  observed->set_checkpoints(report.checkpoints);
  observed->set_refused_peers(report.refused_peers);
  if (report.failure.has_value() && !observed->has_failure()) {
    *observed->mutable_failure() = ToProto(*report.failure);
  }
}

absl::StatusOr<shim::StartCommand> ToStart(const v1::DesiredGeneration& desired,
                                           const std::vector<std::string>& base_env) {
  shim::StartCommand start;
  start.id = {common::JobId(desired.key().job_id()), desired.key().generation()};
  start.argv.assign(desired.argv().begin(), desired.argv().end());
  start.workdir = desired.workdir();
  start.required_paths.assign(desired.required_paths().begin(), desired.required_paths().end());
  start.serves_store = desired.store_socket() != 0;
  start.store_peers.assign(desired.store_peers().begin(), desired.store_peers().end());
  start.keep_stdin = desired.keep_stdin();
  start.orphan_grace = absl::Milliseconds(desired.failure_grace_ms());
  start.keep_without_agent = !EndsWithAgent(desired);
  start.report_checkpoints = desired.report_checkpoints();
  start.hang_timeout = absl::Milliseconds(std::max<int64_t>(desired.hang_timeout_ms(), 0));
  if (desired.stop_on_disconnect_after_ms() > 0) {
    start.stop_on_disconnect_after = absl::Milliseconds(desired.stop_on_disconnect_after_ms());
  }
  std::map<std::string, std::string> shared = Split(base_env);
  SetAll(desired.env(), &shared);
  size_t bytes = 0;
  for (const v1::DesiredWorker& worker : desired.workers()) {
    std::map<std::string, std::string> env = shared;
    SetAll(worker.env(), &env);
    shim::WorkerStart& to = start.workers.emplace_back();
    to.rank = worker.rank();
    to.local_rank = worker.local_rank();
    for (auto& [name, value] : env) {
      bytes += to.env.emplace_back(absl::StrCat(name, "=", value)).size();
    }
    if (bytes > shim::kMaxPayloadBytes) {
      return TooLarge(desired.workers_size(), bytes / start.workers.size());
    }
  }
  return start;
}

}  // namespace accel::agent
