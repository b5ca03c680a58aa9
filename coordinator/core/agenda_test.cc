#include "coordinator/core/agenda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const common::JobId kA("a");
const common::JobId kB("b");
const common::JobId kC("c");

absl::Time At(int seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

TEST(AgendaTest, TheQueueIsDueAtFirst) {
  Agenda agenda;
  EXPECT_TRUE(agenda.Take(At(0)).queue);
  EXPECT_FALSE(agenda.Take(At(0)).queue);
  EXPECT_EQ(agenda.next(), absl::InfiniteFuture());
}

TEST(AgendaTest, WhatIsTouchedIsDueOnceAndInOrder) {
  Agenda agenda;
  agenda.Take(At(0));
  agenda.Touch(kB);
  agenda.Touch(kA);
  agenda.Touch(kB);
  EXPECT_EQ(agenda.next(), absl::InfinitePast());
  const Agenda::Due due = agenda.Take(At(0));
  EXPECT_THAT(due.jobs, ElementsAre(kA, kB));
  EXPECT_FALSE(due.queue);
  EXPECT_THAT(agenda.Take(At(0)).jobs, IsEmpty());
}

TEST(AgendaTest, WhatIsScheduledIsDueAtItsTime) {
  Agenda agenda;
  agenda.Take(At(0));
  agenda.WakeAt(kA, At(2));
  agenda.WakeAt(kB, At(1));
  agenda.WakeAt(kC, At(2));
  agenda.WakeQueueAt(At(3));
  EXPECT_EQ(agenda.next(), At(1));
  EXPECT_THAT(agenda.Take(At(1)).jobs, ElementsAre(kB));
  EXPECT_EQ(agenda.next(), At(2));
  EXPECT_THAT(agenda.Take(At(2)).jobs, ElementsAre(kA, kC));
  EXPECT_EQ(agenda.next(), At(3));
  EXPECT_TRUE(agenda.Take(At(3)).queue);
  EXPECT_EQ(agenda.next(), absl::InfiniteFuture());
}

TEST(AgendaTest, ALaterTimeReplacesAnEarlierOne) {
  Agenda agenda;
  agenda.Take(At(0));
  agenda.WakeAt(kA, At(1));
  agenda.WakeAt(kA, At(5));
  EXPECT_THAT(agenda.Take(At(3)).jobs, IsEmpty());
  agenda.WakeBy(kA, At(6));
  EXPECT_EQ(agenda.next(), At(5));
  agenda.WakeBy(kA, At(4));
  EXPECT_EQ(agenda.next(), At(4));
  agenda.WakeAt(kA, absl::InfiniteFuture());
  EXPECT_THAT(agenda.Take(At(9)).jobs, IsEmpty());
}

}  // namespace
}  // namespace accel::coordinator
