#include "tests/simulation/planted_bugs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "coordinator/core/records.h"
#include "coordinator/store/memory_store.h"
#include "proto/store.pb.h"

namespace accel::simulation {
namespace {

class HastyStore final : public coordinator::Store {
 public:
  explicit HastyStore(coordinator::Store* store) : store_(store) {}

  absl::StatusOr<std::vector<coordinator::Row>> Load() override { return store_->Load(); }

  void Commit(coordinator::RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override {
    waiting_.push_back(std::move(batch));
    if (waiting_.size() == 1) CommitNext();
    done(absl::OkStatus());
  }

 private:
  void CommitNext() {
    store_->Commit(waiting_.front(), [this](absl::Status status) {
      if (status.ok()) waiting_.pop_front();
      if (!waiting_.empty()) CommitNext();
    });
  }

  coordinator::Store* const store_;
  std::deque<coordinator::RowBatch> waiting_;  // The first is being committed.
};

class GracelessStore final : public coordinator::Store {
 public:
  explicit GracelessStore(coordinator::Store* store) : store_(store) {}

  absl::StatusOr<std::vector<coordinator::Row>> Load() override {
    absl::StatusOr<std::vector<coordinator::Row>> rows = store_->Load();
    if (!rows.ok()) return rows;
    for (coordinator::Row& row : *rows) {
      const absl::StatusOr<coordinator::RowKey> key = coordinator::ParseRowKey(row.key);
      v1::StoredJob stored;
      if (!key.ok() || key->kind != coordinator::RowKey::Kind::kState) continue;
      if (!stored.ParseFromString(row.value)) continue;
      stored.clear_stop_grace_us();
      row.value = stored.SerializeAsString();
    }
    return rows;
  }

  void Commit(coordinator::RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override {
    store_->Commit(std::move(batch), std::move(done));
  }

 private:
  coordinator::Store* const store_;
};

// Reads the rows of a torn commit up to the place where it ends, as a store without transactions
// would do.
std::vector<coordinator::Row> KeepHalf(const std::vector<coordinator::Row>& before,
                                       const coordinator::RowBatch& batch, double part) {
  coordinator::MemoryStore store;
  store.Commit({.put = before, .erase = {}}, [](absl::Status) {});
  coordinator::RowBatch half = batch;
  half.put.resize(static_cast<size_t>(static_cast<double>(half.put.size()) * part));
  store.Commit(std::move(half), [](absl::Status) {});
  return *store.Load();
}

// Remembers the ends that nodes have reported, and reports each of them once more as the end of the
// next generation of its job on its node.
class LateReports {
 public:
  void operator()(v1::NodeObserved* report) {
    for (v1::ObservedGeneration& part : *report->mutable_generations()) {
      auto& ends = ends_[{report->node_id(), part.job_id()}];
      if (part.state() == v1::ObservedGeneration::ENDED) {
        ends[part.generation()] = part;
        continue;
      }
      const auto late = ends.find(part.generation() - 1);
      if (late == ends.end()) continue;
      v1::ObservedGeneration end = late->second;
      end.set_generation(part.generation());
      part = std::move(end);
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, std::map<int, v1::ObservedGeneration>> ends_;
};

// Lists each socket that an agent has taken out of its pool again, under a new id.
class UsedSockets {
 public:
  void operator()(v1::NodeObserved* report) {
    auto& known = known_[report->incarnation()];
    std::map<uint64_t, v1::StoreSocket> used = known;
    for (const v1::StoreSocket& socket : report->store_sockets()) {
      known[socket.id()] = socket;
      used.erase(socket.id());
    }
    const std::vector<v1::StoreSocket> free(report->store_sockets().begin(),
                                            report->store_sockets().end());
    report->clear_store_sockets();
    for (const auto& [id, socket] : used) {
      v1::StoreSocket* again = report->add_store_sockets();
      *again = socket;
      again->set_id(id + 1'000'000);
    }
    for (const v1::StoreSocket& socket : free) *report->add_store_sockets() = socket;
  }

 private:
  std::map<std::string, std::map<uint64_t, v1::StoreSocket>> known_;
};

}  // namespace

PlantedBug AcknowledgesBeforePersisting() {
  return {.name = "acknowledges before persisting",
          .store = [](coordinator::Store* store) { return std::make_unique<HastyStore>(store); }};
}

PlantedBug KeepsHalfCommits() { return {.name = "keeps half commits", .torn_commit = KeepHalf}; }

PlantedBug LiesAboutFsync() { return {.name = "lies about fsync", .lies_about_fsync = true}; }

PlantedBug ForgetsStarts() { return {.name = "forgets starts", .forgets_starts = true}; }

PlantedBug BelievesReportsOfOlderGenerations() {
  return {.name = "believes reports of older generations", .report = LateReports()};
}

PlantedBug TrustsTheOrderOfReports() {
  return {.name = "trusts the order of reports",
          .report = [](v1::NodeObserved* report) { report->clear_made_us(); }};
}

PlantedBug IgnoresCheckpoints() {
  return {.name = "ignores checkpoints", .report = [](v1::NodeObserved* report) {
            for (v1::ObservedGeneration& part : *report->mutable_generations()) {
              part.clear_checkpoints();
            }
          }};
}

PlantedBug NamesTheWrongRank() {
  return {.name = "names the wrong rank", .report = [](v1::NodeObserved* report) {
            for (v1::ObservedGeneration& part : *report->mutable_generations()) {
              const auto& workers = part.workers();
              const bool any_hangs = std::any_of(
                  workers.begin(), workers.end(),
                  [](const auto& worker) { return worker.exit().kind() == v1::ExitRecord::HUNG; });
              if (!any_hangs || workers.size() < 2) continue;
              v1::ObservedWorker& first = *part.mutable_workers(0);
              v1::ObservedWorker& second = *part.mutable_workers(1);
              const int rank = first.rank();
              first.set_rank(second.rank());
              second.set_rank(rank);
            }
          }};
}

PlantedBug StopsWithoutGrace() {
  return {.name = "stops without grace", .desired = [](v1::NodeDesired* desired) {
            for (v1::DesiredGeneration& each : *desired->mutable_generations()) {
              each.set_grace_ms(0);
            }
          }};
}

PlantedBug ForgetsGraceOverARestart() {
  return {.name = "forgets a grace over a restart", .store = [](coordinator::Store* store) {
            return std::make_unique<GracelessStore>(store);
          }};
}

PlantedBug ObeysAnyCoordinator() {
  return {.name = "obeys any coordinator",
          .desired = [](v1::NodeDesired* desired) { desired->clear_cluster_id(); }};
}

PlantedBug NeverFences() {
  return {.name = "never fences", .desired = [](v1::NodeDesired* desired) {
            for (v1::DesiredGeneration& each : *desired->mutable_generations()) {
              each.clear_stop_on_disconnect_after_ms();
            }
          }};
}

PlantedBug OffersUsedSocketsAgain() {
  return {.name = "offers used sockets again", .report = UsedSockets()};
}

}  // namespace accel::simulation
