#include "coordinator/latest_box.h"

#include <gtest/gtest.h>

#include <vector>

namespace accel::coordinator {
namespace {

// The values that a stream received, in order, and then the code with which it ended.
struct Seen {
  std::vector<int> values;
  std::vector<absl::StatusCode> ends;

  LatestBox<int>::Ready Callback() {
    return [this](std::optional<int> value, absl::Status end) {
      if (value.has_value()) {
        values.push_back(*value);
      } else {
        ends.push_back(end.code());
      }
    };
  }
};

TEST(LatestBox, OnlyTheNewestWaits) {
  LatestBox<int> box;
  Seen seen;
  box.Put(1);
  box.Put(2);
  box.Pull(seen.Callback());
  EXPECT_EQ(seen.values, std::vector<int>{2});
  box.Pull(seen.Callback());
  EXPECT_EQ(seen.values.size(), 1u);
  box.Put(3);
  EXPECT_EQ(seen.values, (std::vector<int>{2, 3}));
}

TEST(LatestBox, TheLastValueComesBeforeTheEnd) {
  LatestBox<int> box;
  Seen seen;
  box.Put(1);
  box.End(absl::OkStatus());
  box.End(absl::InternalError("too late"));
  box.Put(2);
  box.Pull(seen.Callback());
  box.Pull(seen.Callback());
  EXPECT_EQ(seen.values, std::vector<int>{1});
  EXPECT_EQ(seen.ends, std::vector<absl::StatusCode>{absl::StatusCode::kOk});
}

TEST(LatestBox, CancelDropsWhatWaits) {
  LatestBox<int> box;
  Seen seen;
  box.Put(1);
  box.Cancel();
  box.Pull(seen.Callback());
  EXPECT_TRUE(seen.values.empty());
  EXPECT_EQ(seen.ends, std::vector<absl::StatusCode>{absl::StatusCode::kCancelled});
}

TEST(LatestBox, TheEndWakesWhoWaits) {
  LatestBox<int> box;
  Seen seen;
  box.Pull(seen.Callback());
  box.End(absl::UnavailableError("gone"));
  EXPECT_EQ(seen.ends, std::vector<absl::StatusCode>{absl::StatusCode::kUnavailable});
}

}  // namespace
}  // namespace accel::coordinator
