#include "coordinator/core/desired_state.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/loopback.h"
#include "common/worker_env.h"
#include "common/world_size.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/job_spec.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {
namespace {

// Calls fn(entry, machine rank) for each job with a part on this node that was planned for the
// node's present boot.
template <typename Fn>
void ForEachPart(const ClusterState& state, const NodeEntry& node, Fn fn) {
  for (const auto& [job_id, machine_rank] : node.jobs) {
    const JobEntry& job = state.jobs.at(job_id);
    const v1::Placement& placement = CurrentGeneration(job.job)->placements(machine_rank);
    // A part that was planned for an earlier boot has ended with it, and must not start again.
    if (placement.boot_id() == node.observed.boot_id()) fn(job, machine_rank);
  }
}

int64_t HeartbeatMillis(const ClusterState& state) {
  return absl::ToInt64Milliseconds(Heartbeat(state));
}

// Returns true if the agent may drop its record of this part. The part has ended and its job has
// moved on, so its result is stored, or no job waits for it.
bool MayForget(const ClusterState& state, const v1::ObservedGeneration& part) {
  return part.state() == v1::ObservedGeneration::ENDED &&
         !IsLive(state, common::JobId(part.job_id()), part.generation());
}

// Returns the spare sockets of the node that no generation holds any more, and that must be closed.
std::vector<uint64_t> SocketsToClose(const NodeEntry& node) {
  std::vector<uint64_t> ids;
  if (node.consumed_sockets.empty()) return ids;  // As on nearly all nodes.
  for (const v1::StoreSocket& socket : node.observed.store_sockets()) {
    const auto claim = node.consumed_sockets.find(socket.id());
    if (claim != node.consumed_sockets.end() && !claim->second) ids.push_back(socket.id());
  }
  return ids;
}

// Returns the part's world, without the variables of the submitter.
common::NodeWorld WorldOf(const JobEntry& entry, const NodeEntry& node, int machine_rank) {
  const v1::Job& job = entry.job;
  const v1::GenerationRecord& generation = *CurrentGeneration(job);
  const v1::Placement& placement = generation.placements(machine_rank);
  common::NodeWorld world;
  world.job_id = job.job_id();
  world.generation = generation.generation();
  world.node_name = placement.node_name();
  world.machine_rank = machine_rank;
  world.num_machines = generation.placements_size();
  world.first_rank = placement.first_rank();
  world.local_world_size = placement.processes();
  world.world_size = common::WorldSize(generation);
  world.master_addr = generation.master_addr();
  world.master_port = generation.master_port();
  world.interface = node.observed.interface();
  world.restart_count = job.failures();
  world.max_restarts = job.spec().max_restarts();
  world.cpu = placement.gpu_ids().empty();
  world.gpu_ids.assign(placement.gpu_ids().begin(), placement.gpu_ids().end());
  world.mixed_precision = job.spec().mixed_precision();
  world.debug = job.spec().debug();
  world.role = job.spec().role();
  world.terminal_columns = job.spec().terminal_columns();
  return world;
}

void AddEnv(common::EnvList list, google::protobuf::RepeatedPtrField<v1::EnvVar>* env) {
  for (auto& [name, value] : list) {
    v1::EnvVar* variable = env->Add();
    variable->set_name(std::move(name));
    variable->set_value(std::move(value));
  }
}

// Adds the addresses from which the job's ranks connect to its store. They are those of the plan,
// so the list remains the same while a node's address changes.
void AddStorePeers(const v1::GenerationRecord& generation, v1::DesiredGeneration* desired) {
  std::set<std::string> peers;
  if (generation.placements_size() == 1) {
    peers.insert(generation.master_addr());
  } else {
    for (const v1::Placement& placement : generation.placements()) {
      peers.insert(placement.address());
      // A host with several interfaces may connect from any of its addresses.
      peers.insert(placement.addresses().begin(), placement.addresses().end());
    }
  }
  // The kernel uses the first loopback address of the family as the source of a connection to
  // any loopback address.
  if (std::any_of(peers.begin(), peers.end(), common::IsLoopback)) {
    peers.insert({"127.0.0.1", "::1"});
    peers.erase("localhost");
  }
  for (const std::string& peer : peers) desired->add_store_peers(peer);
}

// Returns the fields of a start that are the same on all nodes of the generation, if their worlds
// differ only in what NodeEnv() reads.
v1::DesiredGeneration MakeSharedStart(const Limits& limits, const v1::JobSpec& spec,
                                      common::NodeWorld world) {
  for (const v1::EnvVar& variable : spec.env()) {
    world.user_env.emplace_back(variable.name(), variable.value());
  }
  v1::DesiredGeneration start;
  *start.mutable_argv() = spec.argv();
  start.set_workdir(spec.workdir());
  *start.mutable_required_paths() = spec.required_paths();
  AddEnv(common::SharedEnv(world), start.mutable_env());
  start.set_failure_grace_ms(absl::ToInt64Milliseconds(FailureGrace(limits, spec)));
  start.set_keep_stdin(spec.keep_stdin() && world.world_size == 1);
  start.set_log_dir(spec.log_dir());
  start.set_runs_as(spec.runs_as());
  start.set_upload(spec.upload());
  start.set_on_agent_loss(spec.on_agent_loss() == v1::END ? v1::END : v1::KEEP);
  start.set_stop_on_disconnect_after_ms(spec.stop_on_disconnect_after_ms());
  start.set_report_checkpoints(IsElastic(spec));
  start.set_hang_timeout_ms(spec.hang_timeout_ms());
  return start;
}

// Fills the fields of a start that differ from node to node.
void FillOwn(const JobEntry& entry, const common::NodeWorld& world,
             v1::DesiredGeneration* desired) {
  const v1::GenerationRecord& generation = *CurrentGeneration(entry.job);
  const v1::Placement& placement = generation.placements(world.machine_rank);
  AddEnv(common::NodeEnv(world), desired->mutable_env());
  for (int local_rank = 0; local_rank < placement.processes(); ++local_rank) {
    v1::DesiredWorker* worker = desired->add_workers();
    worker->set_rank(placement.first_rank() + local_rank);
    worker->set_local_rank(local_rank);
    AddEnv(common::RankEnv(world, local_rank), worker->mutable_env());
  }
  desired->set_store_socket(placement.store_socket());
  if (placement.store_socket() != 0) AddStorePeers(generation, desired);
}

}  // namespace

std::shared_ptr<const SharedStart> SharedStarts::Find(const Limits& limits, const v1::JobSpec& spec,
                                                      const common::NodeWorld& world) {
  const std::string key =
      absl::StrCat(world.job_id, "|", world.interface, "|", world.local_world_size, "|",
                   absl::StrJoin(world.gpu_ids, ","));
  std::shared_ptr<const SharedStart>& start = starts_[key];
  if (start == nullptr) {
    start = std::make_shared<const SharedStart>(MakeSharedStart(limits, spec, world));
  }
  return start;
}

std::string DesiredSignature(const ClusterState& state, const NodeEntry& node,
                             const std::vector<v1::LogReader>& readers) {
  std::string signature = absl::StrCat(node.observed.incarnation(), "|", HeartbeatMillis(state));
  ForEachPart(state, node, [&signature](const JobEntry& entry, int machine_rank) {
    const v1::Job& job = entry.job;
    absl::StrAppend(&signature, "|", job.job_id(), ".", CurrentGeneration(job)->generation());
    if (job.phase() != v1::STOPPING) return;
    absl::StrAppend(&signature, "-", absl::ToInt64Milliseconds(entry.stop_grace));
  });
  for (const v1::ObservedGeneration& part : node.observed.generations()) {
    if (MayForget(state, part)) {
      absl::StrAppend(&signature, "|~", part.job_id(), ".", part.generation());
    }
  }
  for (const uint64_t socket : SocketsToClose(node)) absl::StrAppend(&signature, "|x", socket);
  if (node.settled_from != 0) absl::StrAppend(&signature, "|settle", node.settled_from);
  if (!WhyLeaves(node.observed).empty()) absl::StrAppend(&signature, "|bye");
  for (const v1::LogReader& reader : readers) {
    absl::StrAppend(&signature, "|>", reader.reader_id());
  }
  return signature;
}

Desired BuildDesired(const ClusterState& state, const NodeEntry& node,
                     const std::vector<v1::LogReader>& readers, uint64_t version,
                     SharedStarts* starts) {
  Desired parts;
  v1::NodeDesired& desired = parts.node;
  desired.set_version(version);
  desired.set_incarnation(node.observed.incarnation());
  desired.set_heartbeat_ms(HeartbeatMillis(state));
  desired.set_cluster_id(state.facts.cluster_id);
  desired.set_goodbye_taken(!WhyLeaves(node.observed).empty());
  ForEachPart(state, node, [&](const JobEntry& entry, int machine_rank) {
    DesiredPart& part = parts.generations.emplace_back();
    part.own.mutable_key()->set_job_id(entry.job.job_id());
    part.own.mutable_key()->set_generation(CurrentGeneration(entry.job)->generation());
    if (entry.job.phase() == v1::STOPPING) {
      part.own.set_stop(true);
      part.own.set_grace_ms(absl::ToInt64Milliseconds(entry.stop_grace));
    } else {
      const common::NodeWorld world = WorldOf(entry, node, machine_rank);
      part.shared = starts->Find(state.limits, entry.job.spec(), world);
      FillOwn(entry, world, &part.own);
    }
  });
  for (const v1::ObservedGeneration& part : node.observed.generations()) {
    if (!MayForget(state, part)) continue;
    v1::GenerationKey* key = desired.add_forget();
    key->set_job_id(part.job_id());
    key->set_generation(part.generation());
  }
  for (const uint64_t socket : SocketsToClose(node)) desired.add_close_sockets(socket);
  for (const v1::LogReader& reader : readers) *desired.add_log_readers() = reader;
  return parts;
}

}  // namespace accel::coordinator
