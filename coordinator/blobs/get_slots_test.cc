#include "coordinator/blobs/get_slots.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class GetSlotsTest : public ::testing::Test {
 protected:
  absl::Status Take(CallerKind kind, const std::string& name) {
    auto slot = slots_.Take({kind, name, "", Role::kUser});
    if (slot.ok()) taken_.push_back(*std::move(slot));
    return slot.status();
  }

  GetSlots slots_;
  std::vector<std::unique_ptr<GetSlots::Slot>> taken_;
};

TEST_F(GetSlotsTest, AllUsersTogetherHaveABound) {
  for (int i = 0; i < GetSlots::kMaxOfUsers; ++i) {
    ASSERT_OK(Take(CallerKind::kUser, absl::StrCat("u", i)));
  }
  EXPECT_THAT(Take(CallerKind::kUser, "x"), StatusIs(kUnavailable, HasSubstr("many other users")));
  taken_.pop_back();
  EXPECT_OK(Take(CallerKind::kUser, "x"));
  EXPECT_FALSE(Take(CallerKind::kUser, "y").ok());
}

TEST_F(GetSlotsTest, LargeJobsAndTheOwnerAreNotRefused) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(Take(CallerKind::kNode, absl::StrCat("n", i)));
    ASSERT_OK(Take(CallerKind::kOwner, ""));
  }
}

}  // namespace
}  // namespace accel::coordinator
