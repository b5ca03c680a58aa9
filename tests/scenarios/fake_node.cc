#include "tests/scenarios/fake_node.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace accel::scenarios {
namespace {

template <typename List, typename Predicate>
void EraseIf(List* list, Predicate gone) {
  list->erase(std::remove_if(list->begin(), list->end(), gone), list->end());
}

}  // namespace

FakeNode::FakeNode(std::string name, int gpus, int sockets, std::string address, int cpus)
    : name_(std::move(name)), sockets_(sockets) {
  observed_.set_node_id(absl::StrCat("id-", name_));
  observed_.set_name(name_);
  observed_.set_address(std::move(address));
  observed_.set_interface("eth0");
  observed_.mutable_inventory()->set_cpus(cpus);
  for (int i = 0; i < gpus; ++i) observed_.mutable_inventory()->add_gpus()->set_index(i);
  Reboot();
}

void FakeNode::Reboot() {
  observed_.set_boot_id(absl::StrCat("boot-", name_, "-", boot_++));
  RestartAgent(/*forgets=*/true);
}

void FakeNode::RestartAgent(bool forgets) {
  observed_.set_incarnation(absl::StrCat(name_, "-", incarnation_++));
  if (forgets) observed_.clear_generations();
  observed_.clear_goodbye();
  observed_.clear_agent_stops();
  observed_.clear_store_sockets();
  observed_.set_sequence(0);
  observed_.set_applied_version(0);
  Refill();
}

void FakeNode::Refill() {
  std::set<std::string> kinds = {observed_.address(), "127.0.0.1"};
  for (const std::string& address : kinds) {
    const auto& sockets = observed_.store_sockets();
    auto count = std::count_if(sockets.begin(), sockets.end(),
                               [&address](const auto& each) { return each.address() == address; });
    for (; count < sockets_; ++count) {
      v1::StoreSocket* socket = observed_.add_store_sockets();
      socket->set_id(next_socket_);
      socket->set_address(address);
      socket->set_port(static_cast<int>(10'000 + next_socket_++));
    }
  }
}

v1::NodeObserved FakeNode::Report(absl::Time now) {
  observed_.set_made_us(Shows(now));
  observed_.set_sequence(observed_.sequence() + 1);
  return observed_;
}

v1::ObservedGeneration* FakeNode::Find(const std::string& job, int generation) {
  for (v1::ObservedGeneration& part : *observed_.mutable_generations()) {
    if (part.job_id() == job && part.generation() == generation) return &part;
  }
  return nullptr;
}

bool FakeNode::Has(uint64_t socket) const {
  const auto& sockets = observed_.store_sockets();
  return std::any_of(sockets.begin(), sockets.end(),
                     [socket](const v1::StoreSocket& spare) { return spare.id() == socket; });
}

void FakeNode::Start(const v1::DesiredGeneration& desired) {
  v1::ObservedGeneration* part = observed_.add_generations();
  part->set_job_id(desired.key().job_id());
  part->set_generation(desired.key().generation());
  part->set_state(v1::ObservedGeneration::STARTING);
  const bool gone = desired.store_socket() != 0 && (sockets_vanish || !Has(desired.store_socket()));
  if (gone) {
    part->set_store_socket_gone(true);
    part->set_state(v1::ObservedGeneration::ENDED);
  } else {
    for (const v1::DesiredWorker& worker : desired.workers()) {
      v1::ObservedWorker* started = part->add_workers();
      started->set_rank(worker.rank());
      started->set_local_rank(worker.local_rank());
      started->set_pid(1000 + worker.rank());
    }
  }
  EraseIf(observed_.mutable_store_sockets(), [&desired](const v1::StoreSocket& socket) {
    return socket.id() == desired.store_socket();
  });
  Refill();
}

void FakeNode::CloseSockets(const v1::NodeDesired& desired) {
  EraseIf(observed_.mutable_store_sockets(), [&desired](const v1::StoreSocket& socket) {
    return std::count(desired.close_sockets().begin(), desired.close_sockets().end(), socket.id()) >
           0;
  });
  Refill();
}

void FakeNode::Work(const v1::NodeDesired& desired, absl::Time now) {
  const auto wanted = [&desired](const v1::ObservedGeneration& part) {
    return std::any_of(desired.generations().begin(), desired.generations().end(),
                       [&part](const v1::DesiredGeneration& each) {
                         return each.key().job_id() == part.job_id() &&
                                each.key().generation() == part.generation() && !each.stop();
                       });
  };
  for (v1::ObservedGeneration& part : *observed_.mutable_generations()) {
    if (part.state() == v1::ObservedGeneration::ENDED) continue;
    const bool stop = !wanted(part);
    if (!stop && part.state() == v1::ObservedGeneration::STARTING) {
      part.set_state(v1::ObservedGeneration::RUNNING);
      continue;
    }
    for (v1::ObservedWorker& worker : *part.mutable_workers()) {
      if (worker.has_exit()) continue;
      worker.mutable_exit()->set_kind(stop ? v1::ExitRecord::SIGNALLED : v1::ExitRecord::EXITED);
      if (stop) worker.mutable_exit()->set_signal(15);
      worker.set_ended_us(Shows(now));
    }
    part.set_state(v1::ObservedGeneration::ENDED);
  }
}

void FakeNode::Apply(const v1::NodeDesired& desired, absl::Time now) {
  if (desired.incarnation() != observed_.incarnation()) return;
  observed_.set_applied_version(desired.version());
  observed_.set_answered_us(Shows(now));
  CloseSockets(desired);
  for (const v1::GenerationKey& key : desired.forget()) {
    EraseIf(observed_.mutable_generations(), [&key](const v1::ObservedGeneration& part) {
      return part.job_id() == key.job_id() && part.generation() == key.generation();
    });
  }
  for (const v1::DesiredGeneration& generation : desired.generations()) {
    v1::ObservedGeneration* part = Find(generation.key().job_id(), generation.key().generation());
    if (part == nullptr) {
      if (!generation.stop()) Start(generation);
    } else if (generation.stop() && part->state() != v1::ObservedGeneration::ENDED) {
      part->set_state(v1::ObservedGeneration::STOPPING);
    }
  }
}

}  // namespace accel::scenarios
