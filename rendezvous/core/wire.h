// The constants of PyTorch 2.11's TCPStore protocol. Integers are sent in host byte order. A
// string is its length as uint64, followed by its bytes. A list is its length as uint64,
// followed by its elements.
#pragma once

#include <cstdint>

namespace accel::rendezvous {

enum class QueryType : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kNumKeys = 7,
  kDeleteKey = 8,
  kAppend = 9,
  kMultiGet = 10,
  kMultiSet = 11,
  kCancelWait = 12,
  kPing = 13,
  kQueuePush = 14,
  kQueuePop = 15,
  kQueueLen = 16,
  kListKeys = 17,
};
inline constexpr int kQueryTypes = 18;

// The number in kValidate, which is the first query of a connection.
inline constexpr uint32_t kValidationMagic = 0x3C85F7CE;

enum class CheckResponse : uint8_t { kReady = 0, kNotReady = 1 };
enum class WaitResponse : uint8_t { kStopWaiting = 0, kWaitCanceled = 1 };

}  // namespace accel::rendezvous
