#include "coordinator/gate/core/first_record.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace accel::coordinator {
namespace {

// Returns a handshake record with a body of this size.
std::string Hello(size_t body) {
  std::string record("\x16\x03\x01", 3);
  record += static_cast<char>(body >> 8);
  record += static_cast<char>(body & 0xff);
  return record + std::string(body, 'h');
}

TEST(FirstRecordTest, EveryPrefixOfAKnownProtocolIsUnfinished) {
  const struct {
    std::string bytes;
    Protocol protocol;
  } cases[] = {{Hello(517), Protocol::kTls}, {"ACCELEN1", Protocol::kEnrolment}};
  for (const auto& each : cases) {
    for (size_t size = 0; size < each.bytes.size(); ++size) {
      EXPECT_EQ(Recognise(each.bytes.substr(0, size)), Protocol::kUnfinished) << size;
    }
    EXPECT_EQ(Recognise(each.bytes), each.protocol);
    EXPECT_EQ(Recognise(each.bytes + "more"), each.protocol);
  }
}

TEST(FirstRecordTest, OtherProtocolsAreUnknownAtTheirFirstForeignByte) {
  EXPECT_EQ(Recognise("SSH-2.0-OpenSSH_9.2"), Protocol::kUnknown);
  EXPECT_EQ(Recognise("GET / HTTP/1.1"), Protocol::kUnknown);
  EXPECT_EQ(Recognise("PRI * HTTP/2.0"), Protocol::kUnknown);
  EXPECT_EQ(Recognise("ACCELEN2"), Protocol::kUnknown);
  EXPECT_EQ(Recognise("\x16\x02"), Protocol::kUnknown);      // SSL 2.
  EXPECT_EQ(Recognise("\x15\x03\x01"), Protocol::kUnknown);  // An alert.
}

TEST(FirstRecordTest, TheFirstRecordIsBounded) {
  EXPECT_EQ(Recognise(Hello(kMaxFirstRecord - 5)), Protocol::kTls);
  EXPECT_EQ(Recognise(Hello(kMaxFirstRecord - 4)), Protocol::kUnknown);
  EXPECT_EQ(Recognise(Hello(0)), Protocol::kUnknown);
}

TEST(FirstRecordTest, WhatIsDecidedIsNotDecidedDifferentlyLater) {
  std::mt19937 random(7);
  const std::string alphabet(
      "\x16\x03\x01\x00\x02"
      "APCRI",
      10);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes;
    Protocol before = Protocol::kUnfinished;
    for (int n = 0; n < 12; ++n) {
      bytes += alphabet[random() % alphabet.size()];
      const Protocol now = Recognise(bytes);
      if (before != Protocol::kUnfinished) {
        ASSERT_EQ(now, before);
      }
      before = now;
    }
  }
}

}  // namespace
}  // namespace accel::coordinator
