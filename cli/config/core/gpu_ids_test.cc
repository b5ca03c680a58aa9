#include "cli/config/core/gpu_ids.h"

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ParseGpuIds, TakesListsAndAll) {
  EXPECT_THAT(*ParseGpuIds("all"), IsEmpty());
  EXPECT_THAT(*ParseGpuIds("3"), ElementsAre(3));
  for (const char* bad : {"", "a", "0,", "-1", "0,,1", "1024"}) {
    EXPECT_THAT(ParseGpuIds(bad), StatusIs(kInvalid, HasSubstr("is not a number from 0 to 1023")));
  }
  EXPECT_THAT(ParseGpuIds("0,1,0"), StatusIs(kInvalid, "GPU 0 is named twice"));
}

}  // namespace
}  // namespace accel::cli
