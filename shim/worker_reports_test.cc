#include "shim/worker_reports.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/worker_env.h"

namespace accel::shim {
namespace {

bool Send(const WorkerReports& reports, std::string_view message) {
  return send(reports.worker_end(), message.data(), message.size(), MSG_DONTWAIT) >= 0;
}

TEST(WorkerReportsTest, ATurnCountsWhatHasComeAndIgnoresOtherMessages) {
  EventLoop loop;
  WorkerReports reports(&loop, {});
  ASSERT_TRUE(Send(reports, common::kCheckpointMessage));
  ASSERT_TRUE(Send(reports, "of a later version"));
  ASSERT_TRUE(Send(reports, common::kCheckpointMessage));
  EXPECT_EQ(reports.checkpoints(), 0);
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(reports.checkpoints(), 2);
}

TEST(WorkerReportsTest, TheRestIsReadWithoutATurnHoweverMuchTheKernelKeeps) {
  EventLoop loop;
  WorkerReports reports(&loop, {});
  ASSERT_TRUE(Send(reports, ""));  // Not an end, because others follow.
  int sent = 0;
  while (Send(reports, common::kCheckpointMessage)) ++sent;
  ASSERT_EQ(errno, EAGAIN);
  ASSERT_GT(sent, 64);  // More than one turn reads.
  reports.ReadRest();
  EXPECT_EQ(reports.checkpoints(), sent);
}

TEST(WorkerReportsTest, EachSignHasARank) {
  EventLoop loop;
  std::string seen;
  WorkerReports reports(&loop, {.beat = [&](int rank) { absl::StrAppend(&seen, "b", rank); },
                                .wait = [&](int rank) { absl::StrAppend(&seen, "w", rank); },
                                .pause = [&](int rank) { absl::StrAppend(&seen, "p", rank); }});
  for (const char* message :
       {"beat 0", "wait 12", "beat", "beat x", "wait ", "beats 3", "beat 7", "pause 2"}) {
    ASSERT_TRUE(Send(reports, message));
  }
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(seen, "b0w12b7p2");
  EXPECT_EQ(reports.checkpoints(), 0);
}

}  // namespace
}  // namespace accel::shim
