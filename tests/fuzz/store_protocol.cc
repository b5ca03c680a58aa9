// The rendezvous store, which any process of a job's nodes can reach.
//
// The input is what one client sends. Another client waits for two keys, and is woken or not.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/check.h"
#include "rendezvous/core/request_encoder.h"
#include "rendezvous/core/request_parser.h"
#include "rendezvous/core/session.h"
#include "rendezvous/core/store_state.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::rendezvous {
namespace {

constexpr size_t kBudget = 16 << 20;
constexpr ConnectionId kClient = 1, kWaiter = 2;

// What a client receives.
struct Answers {
  absl::Status status;
  std::string reply;
  std::vector<ConnectionId> woken;
};

class Store {
 public:
  // Feeds the client's bytes in pieces of at most `piece` bytes.
  Answers Feed(absl::string_view bytes, size_t piece) {
    Answers answers;
    Session waiter(kWaiter, &limits_, &budget_, &state_);
    ByteBuffer ignored(&budget_);
    const std::string query = testing::Validate() + testing::Wait({"key", "counter"});
    ACCEL_CHECK(waiter.Receive(query, &ignored, &answers.woken).ok(), "a wait is valid");
    Session client(kClient, &limits_, &budget_, &state_);
    ByteBuffer reply(&budget_);
    while (!bytes.empty() && answers.status.ok()) {
      answers.status = FeedOne(&bytes, piece, &client, &reply, &answers.woken);
      ACCEL_CHECK(budget_.used() <= kBudget, "the budget holds");
    }
    answers.reply = std::string(reply.view());
    return answers;
  }

  // Ends the connections and removes what was stored. Then nothing may be charged any more.
  void Empty(absl::string_view bytes) {
    state_.Disconnect(kClient);
    state_.Disconnect(kWaiter);
    ACCEL_CHECK(state_.num_waits() == 0, "a connection that has ended waits for nothing");
    for (const std::string& key : KeysIn(bytes)) {
      Apply(testing::Query(QueryType::kDeleteKey, key));
      while (Apply(testing::Query(QueryType::kQueueLen, key)) != std::string(8, '\0')) {
        Apply(testing::Query(QueryType::kQueuePop, key));
      }
    }
    ACCEL_CHECK(state_.num_keys() == 0, "all keys are deleted");
    ACCEL_CHECK(budget_.used() == 0, "an empty store charges nothing");
  }

 private:
  static absl::Status FeedOne(absl::string_view* bytes, size_t piece, Session* client,
                              ByteBuffer* reply, std::vector<ConnectionId>* woken) {
    char scratch[256];
    const auto target = client->ReadTarget(absl::MakeSpan(scratch));
    if (!target.ok()) return target.status();
    const size_t size = std::min({piece, bytes->size(), target->size()});
    std::copy_n(bytes->data(), size, target->data());
    bytes->remove_prefix(size);
    return client->Receive(absl::string_view(target->data(), size), reply, woken);
  }

  std::string Apply(const std::string& query) {
    RequestParser parser(&limits_);
    Request request;
    ACCEL_CHECK(parser.Parse(query, &request).value_or(0) == query.size(), "a query is valid");
    ByteBuffer reply(&budget_);
    std::vector<ConnectionId> woken;
    ACCEL_CHECK(state_.Apply(kClient, request, &reply, &woken).ok(), "the store takes a query");
    return std::string(reply.view());
  }

  // Returns all keys that the bytes may have set.
  std::set<std::string> KeysIn(absl::string_view bytes) const {
    std::set<std::string> keys;
    RequestParser parser(&limits_);
    while (!bytes.empty()) {
      Request request;
      const auto length = parser.Parse(bytes, &request);
      if (!length.ok() || *length == 0) break;
      keys.emplace(request.key);
      while (!request.list.done()) keys.emplace(request.list.Next());
      bytes.remove_prefix(*length);
    }
    return keys;
  }

  const WireLimits limits_{};
  MemoryBudget budget_{kBudget};
  StoreState state_{&budget_};
};

// The order of the keys in a list of all keys is that of a hash table, and differs between stores.
std::string Sorted(std::string bytes) {
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace

FUZZ_TARGET(bytes) {
  Store whole, split;
  const auto at_once = whole.Feed(bytes, 256);
  const auto in_pieces = split.Feed(bytes, 1 + bytes.size() % 7);
  if (!at_once.status.ok()) fuzz::CheckRefusal(at_once.status);
  // How the bytes arrive decides only how much memory they take meanwhile.
  if (!absl::IsResourceExhausted(at_once.status) && !absl::IsResourceExhausted(in_pieces.status)) {
    ACCEL_CHECK(at_once.status == in_pieces.status &&
                    Sorted(at_once.reply) == Sorted(in_pieces.reply) &&
                    at_once.woken == in_pieces.woken,
                "it does not matter in which pieces the bytes arrive");
  }
  whole.Empty(bytes);
  split.Empty(bytes);
}

}  // namespace accel::rendezvous
