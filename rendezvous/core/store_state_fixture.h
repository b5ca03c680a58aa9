// A store for tests, with the requests and answers that they use most.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/core/request_encoder.h"
#include "rendezvous/core/request_parser.h"
#include "rendezvous/core/store_state.h"

namespace accel::rendezvous {

inline const std::string kStop = testing::Raw(WaitResponse::kStopWaiting);
inline const std::string kCanceled = testing::Raw(WaitResponse::kWaitCanceled);
inline const std::string kReady = testing::Raw(CheckResponse::kReady);
inline const std::string kNotReady = testing::Raw(CheckResponse::kNotReady);

inline std::string Number(int64_t number) { return testing::Raw(number); }
inline std::string Push(absl::string_view queue, absl::string_view value) {
  return testing::Query(QueryType::kQueuePush, queue, value);
}
inline std::string Pop(absl::string_view queue) {
  return testing::Query(QueryType::kQueuePop, queue);
}
inline std::string Check(const std::vector<std::string>& keys) {
  return testing::KeysQuery(QueryType::kCheck, keys);
}

class StoreStateTest : public ::testing::Test {
 protected:
  absl::Status Apply(ConnectionId connection, const std::string& query, std::string* reply) {
    const WireLimits limits;
    RequestParser parser(&limits);
    Request request;
    EXPECT_EQ(parser.Parse(query, &request).value_or(0), query.size());
    ByteBuffer out(&budget_);
    woken_.clear();
    const absl::Status status = state_.Apply(connection, request, &out, &woken_);
    *reply = std::string(out.view());
    return status;
  }

  // Returns the answer to a request that must succeed. Woken connections are in woken_.
  std::string Reply(ConnectionId connection, const std::string& query) {
    std::string reply;
    EXPECT_OK(Apply(connection, query, &reply));
    return reply;
  }
  std::string Reply(const std::string& query) { return Reply(1, query); }

  MemoryBudget budget_{1 << 20};
  StoreState state_{&budget_};
  std::vector<ConnectionId> woken_;
};

}  // namespace accel::rendezvous
