#include "runtime/checkpoint/byte_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>

#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

TEST(ByteRelayTest, BytesArriveInOrderAndEnd) {
  ByteRelay relay;
  auto taken = std::async(std::launch::async, [&] {
    const RelayCloser closer(relay);
    std::string all;
    while (relay.take([&](std::string_view bytes) { all += bytes; })) {
    }
    return all;
  });
  // A part may be freed once it was given, because it has been taken then.
  for (const char* text : {"one ", "", "two"}) relay.give(std::string(text));
  relay.end();
  EXPECT_EQ(taken.get(), "one two");
}

TEST(ByteRelayTest, AnErrorOfTheGiverEndsTheTaker) {
  ByteRelay relay;
  auto taken = std::async(std::launch::async, [&] { relay.take([](std::string_view) {}); });
  relay.fail(std::make_exception_ptr(std::runtime_error("rank 1 is lost")));
  EXPECT_EQ(error_of([&] { taken.get(); }), "rank 1 is lost");
}

TEST(ByteRelayTest, AGiverContinuesAfterTheTakerHasFailed) {
  ByteRelay relay;
  auto taken = std::async(std::launch::async, [&] {
    const RelayCloser closer(relay);
    relay.take([](std::string_view) { throw std::runtime_error("no space"); });
  });
  relay.give("one");
  relay.give("two");
  relay.end();
  EXPECT_EQ(error_of([&] { taken.get(); }), "no space");
}

}  // namespace
}  // namespace accel::runtime
