// Waits for keys and queues of the store: what ends them, and which client is woken.

#include <string>
#include <vector>

#include "rendezvous/core/store_state_fixture.h"

namespace accel::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(StoreStateTest, AWaitForReadyKeysEndsImmediately) {
  Reply(testing::Set("a", "1"));
  Reply(Push("q", "x"));
  EXPECT_EQ(Reply(testing::Wait({"a", "q"})), kStop);
  EXPECT_EQ(Reply(testing::Wait({})), kStop);
  EXPECT_EQ(state_.num_waits(), 0u);
}

TEST_F(StoreStateTest, EachWayToMakeAKeyWakesItsWaiters) {
  const std::vector<std::string> makers = {
      testing::Set("k", "v"),
      testing::Add("k", 1),
      testing::CompareSet("k", "", "v"),
      testing::Query(QueryType::kAppend, "k", "v"),
      testing::MultiSet({{"other", "v"}, {"k", "v"}}),
  };
  for (const std::string& maker : makers) {
    EXPECT_EQ(Reply(2, testing::Wait({"k"})), "");
    EXPECT_EQ(Reply(3, testing::Wait({"k"})), "");
    Reply(1, maker);
    EXPECT_THAT(woken_, ElementsAre(2, 3)) << "query type " << int{maker[0]};
    EXPECT_EQ(state_.num_waits(), 0u);
    Reply(1, testing::Query(QueryType::kDeleteKey, "k"));
  }
}

TEST_F(StoreStateTest, AWaitForSeveralKeysEndsWithTheLast) {
  Reply(testing::Set("a", "1"));
  EXPECT_EQ(Reply(2, testing::Wait({"a", "b", "c", "c"})), "");
  Reply(testing::Set("c", "1"));
  EXPECT_THAT(woken_, IsEmpty());
  Reply(testing::Set("c", "2"));
  EXPECT_THAT(woken_, IsEmpty());
  Reply(testing::Set("b", "1"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(StoreStateTest, AKeyThatWasThereOnceCountsForAWaitThoughDeleted) {
  Reply(2, testing::Wait({"a", "b"}));
  Reply(testing::Set("a", "1"));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "a")), Number(1));
  Reply(testing::Set("b", "1"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(StoreStateTest, DeletingAKeyThatOthersWaitForChangesNothing) {
  Reply(2, testing::Wait({"k"}));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "k")), Number(0));
  EXPECT_THAT(woken_, IsEmpty());
  Reply(testing::Set("k", "v"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(StoreStateTest, ACompareSetThatStoresNothingWakesNoClient) {
  Reply(2, testing::Wait({"k"}));
  Reply(testing::CompareSet("k", "expected", "v"));
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(state_.num_waits(), 1u);
}

TEST_F(StoreStateTest, ACanceledWaitIsOver) {
  Reply(2, testing::Wait({"a", "b"}));
  EXPECT_EQ(Reply(2, testing::Query(QueryType::kCancelWait)), kCanceled);
  EXPECT_EQ(state_.num_waits(), 0u);
  Reply(testing::MultiSet({{"a", "1"}, {"b", "1"}}));
  EXPECT_THAT(woken_, IsEmpty());
  // The same if there is no wait, because the wake-up may have crossed the cancellation.
  EXPECT_EQ(Reply(2, testing::Query(QueryType::kCancelWait)), kCanceled);
}

TEST_F(StoreStateTest, ADeadConnectionIsNotWoken) {
  Reply(2, testing::Wait({"k", "other"}));
  Reply(3, testing::Wait({"k"}));
  state_.Disconnect(2);
  state_.Disconnect(2);
  Reply(testing::Set("k", "v"));
  EXPECT_THAT(woken_, ElementsAre(3));
}

TEST_F(StoreStateTest, ANewWaitReplacesTheOld) {
  Reply(2, testing::Wait({"a"}));
  Reply(2, testing::Wait({"b"}));
  Reply(testing::Set("a", "1"));
  EXPECT_THAT(woken_, IsEmpty());
  Reply(testing::Set("b", "1"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(StoreStateTest, EachPushWakesOneWaiterFirstComeFirst) {
  Reply(2, testing::Wait({"q"}));
  Reply(3, testing::Wait({"q"}));
  Reply(Push("q", "one"));
  EXPECT_THAT(woken_, ElementsAre(2));
  Reply(Push("q", "two"));
  EXPECT_THAT(woken_, ElementsAre(3));
  Reply(Push("q", "three"));
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(Reply(2, Pop("q")), Number(3) + testing::Encoded("one"));
  EXPECT_EQ(Reply(3, Pop("q")), Number(2) + testing::Encoded("two"));
}

TEST_F(StoreStateTest, APushGoesPastAWaiterThatNeedsMore) {
  Reply(2, testing::Wait({"q", "key"}));
  Reply(3, testing::Wait({"q"}));
  Reply(Push("q", "x"));
  EXPECT_THAT(woken_, ElementsAre(3));
  Reply(testing::Set("key", "v"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(StoreStateTest, AWaitCountsQueuedElementsThatCameBefore) {
  Reply(Push("q", "x"));
  Reply(2, testing::Wait({"q", "key"}));
  Reply(testing::Set("key", "v"));
  EXPECT_THAT(woken_, ElementsAre(2));
}

}  // namespace
}  // namespace accel::rendezvous
