#include "rendezvous/core/store_state.h"

#include <string>
#include <vector>

#include "rendezvous/core/store_state_fixture.h"

namespace accel::rendezvous {
namespace {

using ::accel::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST_F(StoreStateTest, SetAnswersNothingAndGetTheValue) {
  EXPECT_EQ(Reply(testing::Set("k", "one")), "");
  EXPECT_EQ(Reply(testing::Get("k")), testing::Encoded("one"));
  Reply(testing::Set("k", "a longer one"));
  EXPECT_EQ(Reply(testing::Get("k")), testing::Encoded("a longer one"));
  Reply(testing::Set("k", ""));
  EXPECT_EQ(Reply(testing::Get("k")), testing::Encoded(""));
  EXPECT_EQ(Reply(Check({"k"})), kReady);
}

TEST_F(StoreStateTest, KeysAndValuesAreAnyBytes) {
  const std::string key("\0\xff\n", 3);
  Reply(testing::Set(key, key));
  EXPECT_EQ(Reply(testing::Get(key)), testing::Encoded(key));
  Reply(testing::Set("", "empty"));
  EXPECT_EQ(Reply(testing::Get("")), testing::Encoded("empty"));
}

TEST_F(StoreStateTest, GetOfAMissingKeyIsEmpty) {
  EXPECT_EQ(Reply(testing::Get("k")), testing::Encoded(""));
  EXPECT_EQ(state_.num_keys(), 0u);
}

TEST_F(StoreStateTest, AddCountsInDecimalText) {
  EXPECT_EQ(Reply(testing::Add("n", 5)), Number(5));
  EXPECT_EQ(Reply(testing::Add("n", -7)), Number(-2));
  EXPECT_EQ(Reply(testing::Get("n")), testing::Encoded("-2"));
  Reply(testing::Set("n", "41"));
  EXPECT_EQ(Reply(testing::Add("n", 1)), Number(42));
  EXPECT_EQ(Reply(testing::Add("n", 0)), Number(42));
}

TEST_F(StoreStateTest, AddRefusesANonNumber) {
  Reply(testing::Set("n", "many"));
  std::string reply;
  EXPECT_THAT(Apply(1, testing::Add("n", 1), &reply),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_EQ(Reply(testing::Get("n")), testing::Encoded("many"));
}

TEST_F(StoreStateTest, ARefusalQuotesTheKeySafely) {
  const std::string key = "\x1b[2J" + std::string(5000, 'x');
  Reply(testing::Set(key, "many"));
  std::string reply;
  const absl::Status refusal = Apply(1, testing::Add(key, 1), &reply);
  EXPECT_THAT(refusal, StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("add to \\x1b[2Jxxx")));
  EXPECT_LT(refusal.message().size(), 300u);
}

TEST_F(StoreStateTest, CompareSet) {
  // A missing key counts as empty.
  EXPECT_EQ(Reply(testing::CompareSet("k", "", "v1")), testing::Encoded("v1"));
  EXPECT_EQ(Reply(testing::CompareSet("k", "v1", "v2")), testing::Encoded("v2"));
  EXPECT_EQ(Reply(testing::CompareSet("k", "other", "v3")), testing::Encoded("v2"));
  EXPECT_EQ(Reply(testing::CompareSet("k", "", "v3")), testing::Encoded("v2"));
  // For a missing key, the protocol answers with the expected value and stores nothing.
  EXPECT_EQ(Reply(testing::CompareSet("missing", "expected", "v")), testing::Encoded("expected"));
  EXPECT_EQ(Reply(Check({"missing"})), kNotReady);
  EXPECT_EQ(state_.num_keys(), 1u);
}

TEST_F(StoreStateTest, AppendMakesOrExtends) {
  const auto append = [](absl::string_view value) {
    return testing::Query(QueryType::kAppend, "k", value);
  };
  EXPECT_EQ(Reply(append("a")), "");
  EXPECT_EQ(Reply(append("bc")), "");
  EXPECT_EQ(Reply(testing::Get("k")), testing::Encoded("abc"));
}

TEST_F(StoreStateTest, DeleteCountAndList) {
  Reply(testing::MultiSet({{"a", "1"}, {"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(Reply(testing::Query(QueryType::kNumKeys)), Number(3));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "b")), Number(1));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "b")), Number(0));
  EXPECT_EQ(Reply(testing::Query(QueryType::kNumKeys)), Number(2));
  const std::string list = Reply(testing::Query(QueryType::kListKeys));
  ASSERT_EQ(list.substr(0, 8), Number(2));
  std::vector<std::string> keys;
  for (EncodedStrings each(absl::string_view(list).substr(8)); !each.done();) {
    keys.emplace_back(each.Next());
  }
  EXPECT_THAT(keys, UnorderedElementsAre("a", "c"));
}

TEST_F(StoreStateTest, MultiGetAnswersInOrder) {
  Reply(testing::MultiSet({{"a", "1"}, {"b", ""}, {"a", "one"}}));
  EXPECT_EQ(Reply(testing::KeysQuery(QueryType::kMultiGet, {"b", "a", "none", "a"})),
            testing::Encoded("") + testing::Encoded("one") + testing::Encoded("") +
                testing::Encoded("one"));
  EXPECT_EQ(Reply(testing::KeysQuery(QueryType::kMultiGet, {})), "");
}

TEST_F(StoreStateTest, CheckRequiresEveryKey) {
  Reply(testing::Set("a", ""));
  EXPECT_EQ(Reply(Check({"a"})), kReady);
  EXPECT_EQ(Reply(Check({"a", "b"})), kNotReady);
  EXPECT_EQ(Reply(Check({})), kReady);
}

TEST_F(StoreStateTest, QueueIsFirstInFirstOut) {
  EXPECT_EQ(Reply(Push("q", "one")), "");
  Reply(Push("q", "two"));
  EXPECT_EQ(Reply(testing::Query(QueryType::kQueueLen, "q")), Number(2));
  EXPECT_EQ(Reply(Check({"q"})), kReady);
  // The answer has the length before the pop, and the element.
  EXPECT_EQ(Reply(Pop("q")), Number(2) + testing::Encoded("one"));
  EXPECT_EQ(Reply(Pop("q")), Number(1) + testing::Encoded("two"));
  EXPECT_EQ(Reply(Pop("q")), Number(0));
  EXPECT_EQ(Reply(testing::Query(QueryType::kQueueLen, "q")), Number(0));
  EXPECT_EQ(Reply(Check({"q"})), kNotReady);
}

TEST_F(StoreStateTest, AQueueIsNotCountedAsAKey) {
  Reply(Push("q", "element"));
  EXPECT_EQ(Reply(testing::Query(QueryType::kNumKeys)), Number(0));
  EXPECT_EQ(Reply(testing::Query(QueryType::kListKeys)), Number(0));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "q")), Number(0));
  EXPECT_EQ(Reply(testing::Get("q")), testing::Encoded(""));
  Reply(testing::Set("q", "value"));
  EXPECT_EQ(Reply(testing::Query(QueryType::kDeleteKey, "q")), Number(1));
  EXPECT_EQ(Reply(Pop("q")), Number(1) + testing::Encoded("element"));
}

TEST_F(StoreStateTest, EverythingTakenAwayIsGivenBack) {
  Reply(testing::Set("warm", "up"));
  Reply(testing::Query(QueryType::kDeleteKey, "warm"));
  EXPECT_EQ(budget_.used(), 0u);
  Reply(testing::Set("k", std::string(1000, 'v')));
  Reply(Push("q", "one"));
  Reply(Push("q", "two"));
  Reply(2, testing::Wait({"x", "y", "k"}));
  Reply(3, testing::Wait({"x"}));
  EXPECT_GT(budget_.used(), 1000u);
  Reply(testing::Query(QueryType::kDeleteKey, "k"));
  Reply(Pop("q"));
  Reply(Pop("q"));
  state_.Disconnect(2);
  Reply(3, testing::Query(QueryType::kCancelWait));
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(StoreStateTest, AFullStoreRefusesAndKeepsWhatItHas) {
  Reply(testing::Set("kept", "value"));
  const std::string large(700 << 10, 'x');
  Reply(testing::Set("large", large));
  std::string reply;
  const std::vector<std::string> refused = {
      testing::Set("more", large),
      testing::Set("large", large + large),
      testing::CompareSet("more", "", large),
      testing::Query(QueryType::kAppend, "large", large),
      Push("q", large),
      testing::MultiSet({{"small", "v"}, {"more", large}}),
      testing::KeysQuery(QueryType::kMultiGet, {"large", "large"}),
      testing::Wait(std::vector<std::string>(20000, "none")),
  };
  for (const std::string& query : refused) {
    const size_t before = budget_.used();
    EXPECT_THAT(Apply(1, query, &reply), StatusIs(absl::StatusCode::kResourceExhausted, _))
        << "query type " << int{query[0]};
    if (query[0] != static_cast<char>(QueryType::kMultiSet)) {
      EXPECT_EQ(budget_.used(), before);
    }
  }
  EXPECT_EQ(Reply(testing::Get("kept")), testing::Encoded("value"));
  // "small" was set before "more" failed.
  EXPECT_EQ(Reply(testing::Query(QueryType::kNumKeys)), Number(3));
}

// Many tiny keys must not exceed the limit either.
TEST_F(StoreStateTest, TinyKeysAreChargedWithTheirOverhead) {
  std::string reply;
  int keys = 0;
  while (Apply(1, testing::Set(std::to_string(keys), ""), &reply).ok()) ++keys;
  EXPECT_GT(keys, 1000);
  EXPECT_LT(keys, (1 << 20) / 100);
}

TEST_F(StoreStateTest, WokenConnectionsAreReportedAlthoughALaterPartFails) {
  Reply(2, testing::Wait({"a"}));
  std::string reply;
  EXPECT_FALSE(
      Apply(1, testing::MultiSet({{"a", "1"}, {"b", std::string(2 << 20, 'x')}}), &reply).ok());
  EXPECT_THAT(woken_, ElementsAre(2));
}

}  // namespace
}  // namespace accel::rendezvous
