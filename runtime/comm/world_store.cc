#include "runtime/comm/world_store.h"

#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/comm/broken_pipe.h"
#include "runtime/comm/progress_beat.h"

namespace accel::runtime {
namespace {

std::string joined_key(int rank) { return "joined_" + std::to_string(rank); }

// Uses a separate connection, because the world's connection may be blocked in a wait. Opens it on
// first use, because most worlds never need it.
class StoreBoard : public KeyValueBoard {
 public:
  StoreBoard(Environment environment, std::string prefix)
      : environment_(std::move(environment)), prefix_(std::move(prefix)) {}

  // Only a call that takes long is announced here, so the launcher learns of it as well. A rank
  // that hangs is then told from those that wait for it (docs/decisions/0097).
  void append(const std::string& key, const std::string& line) override {
    ProgressBeat::of_process().wait();
    store().append(key, std::vector<std::uint8_t>(line.begin(), line.end()));
  }
  std::string read(const std::string& key) override {
    if (!store().check({key})) return "";
    const std::vector<std::uint8_t> bytes = store().get(key);
    return {bytes.begin(), bytes.end()};
  }

 private:
  c10d::Store& store() {
    if (store_ == nullptr) store_ = open_store(environment_, false, prefix_, kBoardTimeout);
    return *store_;
  }

  static constexpr std::chrono::milliseconds kBoardTimeout{2000};
  const Environment environment_;
  const std::string prefix_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace

// "/worker/attempt_N" is torch.distributed's name.
std::string next_world_prefix(const Environment& environment) {
  static std::atomic<int> joined = 0;
  return "/worker/attempt_" + std::to_string(environment.restart_count) + "/world_" +
         std::to_string(joined++);
}

c10::intrusive_ptr<c10d::Store> open_store(const Environment& environment, bool may_serve,
                                           const std::string& prefix,
                                           std::chrono::milliseconds timeout) {
  survive_broken_pipes();
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.timeout = timeout;
  if (may_serve && !environment.launcher_serves_store) {
    options.isServer = environment.rank == 0;
    options.numWorkers = environment.world_size;
  }
  return c10::make_intrusive<c10d::PrefixStore>(
      prefix, c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options));
}

void note_joining(c10d::Store& store, int rank) {
  store.set(joined_key(rank), std::vector<std::uint8_t>{1});
}

std::string not_joined(c10d::Store& store, int world_size) {
  std::string missing;
  try {
    for (int rank = 0; rank < world_size; ++rank) {
      if (store.check({joined_key(rank)})) continue;
      missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
  } catch (const std::exception&) {
    return "";
  }
  return missing.empty() ? "" : missing + " has not begun to join";
}

std::unique_ptr<KeyValueBoard> make_store_board(const Environment& environment,
                                                const std::string& prefix) {
  return std::make_unique<StoreBoard>(environment, prefix);
}

DepartureStore departure_store(c10d::Store& store) {
  static constexpr char kDecision[] = "departure";
  return {.arrive = [&store] { return store.add("leaving", 1); },
          .decide =
              [&store](bool together) {
                const std::string mine = together ? "together" : "alone";
                return store.compareSet(kDecision, "", mine) == "together";
              },
          .await_decision =
              [&store](std::chrono::milliseconds limit) {
                try {
                  store.wait({kDecision}, limit);
                } catch (const c10::DistStoreError&) {
                  // The limit has passed.
                }
              }};
}

}  // namespace accel::runtime
