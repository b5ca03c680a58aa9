#include "runtime/core/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace accel::runtime {
namespace {

TEST(Crc32c, KnownValues) {  // RFC 3720, B.4.
  for (auto* extend : {extend_crc32c, extend_crc32c_portably}) {
    EXPECT_EQ(extend(0, "123456789", 9), 0xe3069283u);
    EXPECT_EQ(extend(0, std::string(32, '\0').data(), 32), 0x8a9136aau);
    EXPECT_EQ(extend(0, std::string(32, '\xff').data(), 32), 0x62a8ab43u);
    EXPECT_EQ(extend(0, nullptr, 0), 0u);
  }
}

TEST(Crc32c, BothImplementationsAgreeAndPartsCombine) {
  std::mt19937 random(1);
  std::string data(300, '\0');
  for (char& byte : data) byte = static_cast<char>(random());
  for (std::size_t size = 0; size <= data.size(); ++size) {
    const std::uint32_t whole = extend_crc32c_portably(0, data.data(), size);
    EXPECT_EQ(extend_crc32c(0, data.data(), size), whole);
    const std::size_t cut = size / 3;
    EXPECT_EQ(extend_crc32c(extend_crc32c(0, data.data(), cut), data.data() + cut, size - cut),
              whole);
    EXPECT_EQ(combine_crc32c(extend_crc32c(0, data.data(), cut),
                             extend_crc32c(0, data.data() + cut, size - cut), size - cut),
              whole);
  }
}

}  // namespace
}  // namespace accel::runtime
