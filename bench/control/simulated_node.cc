#include "bench/control/simulated_node.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace accel::bench {
namespace {

// As many as a real agent keeps.
constexpr int kSpareSockets = 4;

}  // namespace

SimulatedNode::SimulatedNode(int number) {
  const std::string name = absl::StrFormat("node-%05d", number);
  // The lengths are those of real ids.
  state_.set_node_id(absl::StrFormat("%032x", number + 1));
  state_.set_incarnation(absl::StrFormat("%032x", number + 1));
  state_.set_boot_id(absl::StrFormat("00000000-0000-0000-0000-%012x", number + 1));
  state_.set_name(name);
  state_.set_version("1.0");
  state_.set_address(
      absl::StrCat("10.", number >> 16, ".", (number >> 8) & 255, ".", number & 255));
  state_.set_interface("eth0");
  resources_.mutable_inventory()->set_cpus(64);
  resources_.mutable_inventory()->set_memory_bytes(int64_t{512} << 30);
  for (int i = 0; i < 8; ++i) {
    v1::Gpu* gpu = resources_.mutable_inventory()->add_gpus();
    gpu->set_index(i);
    gpu->set_uuid(absl::StrFormat("GPU-00000000-0000-0000-%04x-%012x", i, number));
    gpu->set_name("NVIDIA H100 80GB HBM3");
    gpu->set_memory_bytes(int64_t{80} << 30);
  }
  CloseSocket(0);
}

void SimulatedNode::Apply(const v1::NodeDesired& desired) {
  state_.set_applied_version(desired.version());
  for (const v1::DesiredGeneration& generation : desired.generations()) {
    if (generation.stop()) {
      Stop(generation.key());
    } else if (Find(generation.key()) == nullptr) {
      Start(generation);
    }
  }
  for (const v1::GenerationKey& key : desired.forget()) Forget(key);
  for (const uint64_t socket : desired.close_sockets()) CloseSocket(socket);
}

v1::NodeObserved SimulatedNode::Report() {
  state_.set_sequence(state_.sequence() + 1);
  v1::NodeObserved report = state_;
  report.MergeFrom(resources_);
  return report;
}

std::string SimulatedNode::ReportBytes() {
  state_.set_sequence(state_.sequence() + 1);
  if (resources_bytes_.empty()) resources_bytes_ = resources_.SerializeAsString();
  return absl::StrCat(state_.SerializeAsString(), resources_bytes_);
}

void SimulatedNode::Start(const v1::DesiredGeneration& desired) {
  v1::ObservedGeneration* part = state_.add_generations();
  part->set_job_id(desired.key().job_id());
  part->set_generation(desired.key().generation());
  // A real agent reports a start when its workers run, which is within the 20 ms for which it holds
  // that report (docs/decisions/0088).
  part->set_state(v1::ObservedGeneration::RUNNING);
  for (const v1::DesiredWorker& worker : desired.workers()) {
    v1::ObservedWorker* started = part->add_workers();
    started->set_rank(worker.rank());
    started->set_local_rank(worker.local_rank());
    started->set_pid(100'000 + worker.rank());
    started->set_start_time_ticks(1'000'000);
  }
  if (desired.store_socket() != 0) CloseSocket(desired.store_socket());
}

void SimulatedNode::Stop(const v1::GenerationKey& key) {
  v1::ObservedGeneration* part = Find(key);
  if (part == nullptr || part->state() == v1::ObservedGeneration::ENDED) return;
  part->set_state(v1::ObservedGeneration::ENDED);
  for (v1::ObservedWorker& worker : *part->mutable_workers()) {
    worker.mutable_exit()->set_kind(v1::ExitRecord::SIGNALLED);
    worker.mutable_exit()->set_signal(15);
  }
}

void SimulatedNode::Forget(const v1::GenerationKey& key) {
  auto* parts = state_.mutable_generations();
  for (int i = parts->size() - 1; i >= 0; --i) {
    if (parts->Get(i).job_id() == key.job_id() && parts->Get(i).generation() == key.generation()) {
      parts->DeleteSubrange(i, 1);
    }
  }
}

// Closes the socket and opens others until there are enough.
void SimulatedNode::CloseSocket(uint64_t id) {
  auto* sockets = resources_.mutable_store_sockets();
  resources_bytes_.clear();
  for (int i = sockets->size() - 1; i >= 0; --i) {
    if (sockets->Get(i).id() == id) sockets->DeleteSubrange(i, 1);
  }
  // As many on the advertised address as on loopback, like an agent.
  for (const std::string& address : {state_.address(), std::string("127.0.0.1")}) {
    auto count = std::count_if(sockets->begin(), sockets->end(),
                               [&address](const auto& each) { return each.address() == address; });
    for (; count < kSpareSockets; ++count) {
      v1::StoreSocket* socket = sockets->Add();
      socket->set_id(next_socket_++);
      socket->set_address(address);
      socket->set_port(static_cast<int>(10'000 + next_socket_ % 50'000));
    }
  }
}

v1::ObservedGeneration* SimulatedNode::Find(const v1::GenerationKey& key) {
  for (v1::ObservedGeneration& part : *state_.mutable_generations()) {
    if (part.job_id() == key.job_id() && part.generation() == key.generation()) return &part;
  }
  return nullptr;
}

}  // namespace accel::bench
