#include "shim/core/generation_life.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace accel::shim {
namespace {

using State = GenerationLife::State;
using Event = GenerationLife::Event;

constexpr State kStates[] = {State::kStarting, State::kRunning, State::kStopping, State::kEnded};
constexpr Event kEvents[] = {Event::kExecDone, Event::kStopAsked, Event::kWorkersGone,
                             Event::kNothingLeft};
const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST(GenerationLifeTest, EveryPair) {
  const std::map<std::pair<State, Event>, State> legal = {
      {{State::kStarting, Event::kExecDone}, State::kRunning},
      {{State::kStarting, Event::kStopAsked}, State::kStopping},
      {{State::kStarting, Event::kWorkersGone}, State::kStopping},
      {{State::kRunning, Event::kStopAsked}, State::kStopping},
      {{State::kRunning, Event::kWorkersGone}, State::kStopping},
      {{State::kStopping, Event::kNothingLeft}, State::kEnded},
  };
  for (State state : kStates) {
    for (Event event : kEvents) {
      const auto found = legal.find({state, event});
      const auto next = GenerationLife::Next(state, event);
      ASSERT_EQ(next.has_value(), found != legal.end())
          << static_cast<int>(state) << " " << static_cast<int>(event);
      if (next) {
        EXPECT_EQ(*next, found->second);
      }
    }
  }
}

TEST(GenerationLifeTest, RunsAndEndsByItself) {
  GenerationLife life;
  EXPECT_EQ(life.state(), State::kStarting);
  life.ExecDone();
  EXPECT_EQ(life.state(), State::kRunning);
  EXPECT_EQ(life.kill_at(), absl::InfiniteFuture());
  life.NothingLeft();
  EXPECT_EQ(life.state(), State::kRunning) << "nobody has looked for leftovers yet";
  life.WorkersGone(kNow);
  EXPECT_EQ(life.state(), State::kStopping);
  EXPECT_EQ(life.kill_at(), kNow) << "leftovers have no grace";
  life.NothingLeft();
  EXPECT_EQ(life.state(), State::kEnded);
  EXPECT_EQ(life.kill_at(), absl::InfiniteFuture());
}

TEST(GenerationLifeTest, TermIsSentOnce) {
  GenerationLife life;
  life.ExecDone();
  EXPECT_TRUE(life.StopAsked(kNow, absl::Seconds(30)));
  EXPECT_FALSE(life.StopAsked(kNow, absl::Seconds(30)));
}

TEST(GenerationLifeTest, NoTermBeforeAKillThatIsDue) {
  GenerationLife life;
  life.ExecDone();
  EXPECT_FALSE(life.StopAsked(kNow, absl::ZeroDuration()));
  EXPECT_EQ(life.kill_at(), kNow);
}

TEST(GenerationLifeTest, TheGraceThatRunsOutFirstCounts) {
  GenerationLife life;
  life.ExecDone();
  life.StopAsked(kNow, absl::Seconds(30));
  EXPECT_EQ(life.kill_at(), kNow + absl::Seconds(30));
  life.StopAsked(kNow + absl::Seconds(1), absl::Seconds(60));
  EXPECT_EQ(life.kill_at(), kNow + absl::Seconds(30));
  life.StopAsked(kNow + absl::Seconds(2), absl::Seconds(5));
  EXPECT_EQ(life.kill_at(), kNow + absl::Seconds(7));
  life.WorkersGone(kNow + absl::Seconds(3));
  EXPECT_EQ(life.kill_at(), kNow + absl::Seconds(3));
}

TEST(GenerationLifeTest, WithoutContactForTooLongItMustStop) {
  GenerationLife life;
  EXPECT_EQ(life.fence_at(), absl::InfiniteFuture()) << "contact is not required";
  life.RequireContact(kNow, absl::Seconds(10));
  EXPECT_EQ(life.fence_at(), kNow + absl::Seconds(10));
  life.ExecDone();
  life.Contact(kNow + absl::Seconds(4));
  EXPECT_EQ(life.fence_at(), kNow + absl::Seconds(14));
  life.Contact(kNow + absl::Seconds(3));
  EXPECT_EQ(life.fence_at(), kNow + absl::Seconds(14)) << "time does not run backwards";
  life.StopAsked(kNow + absl::Seconds(5), absl::Seconds(30));
  EXPECT_EQ(life.fence_at(), absl::InfiniteFuture()) << "it is stopping already";
}

TEST(GenerationLifeTest, InfiniteSilenceIsAllowedIfContactIsNotRequired) {
  GenerationLife life;
  life.RequireContact(kNow, absl::InfiniteDuration());
  life.ExecDone();
  EXPECT_EQ(life.fence_at(), absl::InfiniteFuture());
}

TEST(GenerationLifeTest, InfiniteGraceNeverKills) {
  GenerationLife life;
  life.ExecDone();
  EXPECT_TRUE(life.StopAsked(kNow, absl::InfiniteDuration()));
  EXPECT_EQ(life.kill_at(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace accel::shim
