#include "runtime/checkpoint/whole_file.h"

#include <gtest/gtest.h>

#include <new>
#include <string_view>

#include "runtime/testing/counting_allocator.h"

namespace accel::runtime {
namespace {

// The thread that gives continues, because the other ranks take part in what it gathers.
TEST(WholeFileTest, AnErrorOfACopyIsThatOfTheThreadThatWrites) {
  counted();
  const SavedWhole one{.name = "one", .shape = {64, 64}, .held = torch::ones({64, 64}).t()};
  ByteRelay relay;
  counted().at_allocation(1, [] { throw std::bad_alloc(); });
  EXPECT_NO_THROW(give_wholes({one, one}, ProcessState(), &relay));
  relay.end();
  EXPECT_THROW(relay.take([](std::string_view) {}), std::bad_alloc);
}

}  // namespace
}  // namespace accel::runtime
