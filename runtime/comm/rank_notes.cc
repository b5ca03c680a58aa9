#include "runtime/comm/rank_notes.h"

#include <cstdint>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

namespace accel::runtime {
namespace {

// A machine that is paused or starved for some seconds must not cost a checkpoint. If the store
// is gone forever, the launcher notices it, because the process that serves the store
// supervises the ranks.
constexpr std::chrono::seconds kAnswer{20};

}  // namespace

RankNotes connect_notes(const Environment& environment, const std::string& prefix) {
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.timeout = kAnswer;
  const auto store = c10::make_intrusive<c10d::PrefixStore>(
      prefix, c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options));
  return {.write =
              [store](const std::string& key, const std::string& text) {
                store->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
              },
          .read = [store](const std::string& key,
                          std::chrono::milliseconds limit) -> std::optional<std::string> {
            try {
              if (!store->check({key})) store->wait({key}, limit);
            } catch (const c10::DistStoreError&) {
              return std::nullopt;  // The limit has passed.
            }
            const std::vector<std::uint8_t> bytes = store->get(key);
            return std::string(bytes.begin(), bytes.end());
          },
          .remove = [store](const std::string& key) { store->deleteKey(key); }};
}

}  // namespace accel::runtime
