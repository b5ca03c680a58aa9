#include "agent/probe/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<v1::Gpu> FakeGpus() {
  const std::string library =
      std::string(std::getenv("TEST_SRCDIR")) + "/accel/agent/probe/libfake_nvml.so";
  const absl::StatusOr<std::vector<v1::Gpu>> gpus = ListGpus(library);
  EXPECT_OK(gpus);
  return *gpus;
}

std::vector<int> Indexes(const std::vector<v1::Gpu>& gpus) {
  std::vector<int> indexes;
  for (const v1::Gpu& gpu : gpus) indexes.push_back(gpu.index());
  return indexes;
}

TEST(ListGpus, AsksTheDriver) {
  const std::vector<v1::Gpu> gpus = FakeGpus();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[1].uuid(), "GPU-2000-abcd");
  EXPECT_EQ(gpus[1].name(), "Test 2");
  EXPECT_EQ(gpus[1].memory_bytes(), int64_t{1} << 36);
}

TEST(ListGpus, WithoutADriverThereAreNone) {
  const absl::StatusOr<std::vector<v1::Gpu>> gpus = ListGpus("libno_such_driver.so");
  ASSERT_OK(gpus);
  EXPECT_THAT(*gpus, IsEmpty());
}

TEST(ListGpus, ALibraryThatIsNotADriverIsAnError) {
  EXPECT_THAT(ListGpus("libc.so.6"),
              accel::testing::StatusIs(absl::StatusCode::kInternal, HasSubstr("libc.so.6")));
}

TEST(VisibleGpus, FollowsCudasRules) {
  const std::vector<v1::Gpu> all = FakeGpus();
  EXPECT_THAT(Indexes(VisibleGpus(all, std::nullopt)), ElementsAre(0, 1));
  EXPECT_THAT(Indexes(VisibleGpus(all, "")), IsEmpty());
  EXPECT_THAT(Indexes(VisibleGpus(all, "-1")), IsEmpty());
  EXPECT_THAT(Indexes(VisibleGpus(all, "1, 0")), ElementsAre(1, 0));
  EXPECT_THAT(Indexes(VisibleGpus(all, "1,7,0")), ElementsAre(1));
  EXPECT_THAT(Indexes(VisibleGpus(all, "GPU-2")), ElementsAre(1));
}

}  // namespace
}  // namespace accel::agent
