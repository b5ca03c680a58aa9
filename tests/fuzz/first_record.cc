// The first bytes of a connection, from any stranger on the network.
#include "coordinator/gate/core/first_record.h"

#include <algorithm>

#include "common/check.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(bytes) {
  using accel::coordinator::kMaxFirstRecord;
  using accel::coordinator::Protocol;
  // The bytes arrive one by one.
  Protocol before = Protocol::kUnfinished;
  for (size_t arrived = 0; arrived <= std::min(bytes.size(), 2 * kMaxFirstRecord); ++arrived) {
    const Protocol now = accel::coordinator::Recognise(bytes.substr(0, arrived));
    ACCEL_CHECK(before == Protocol::kUnfinished || now == before, "a decision is final");
    ACCEL_CHECK(arrived < kMaxFirstRecord || now != Protocol::kUnfinished,
                "no peer sends much before it is recognised");
    ACCEL_CHECK(now != Protocol::kTls || (bytes[0] == 0x16 && bytes[1] == 3), "it begins as TLS");
    before = now;
  }
  ACCEL_CHECK(bytes.size() > 2 * kMaxFirstRecord || accel::coordinator::Recognise(bytes) == before,
              "it does not matter in which pieces the bytes arrive");
}
