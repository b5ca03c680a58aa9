#include "rendezvous/core/request_parser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/core/request_encoder.h"

namespace accel::rendezvous {
namespace {

using ::accel::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr WireLimits kSmallLimits = {
    .max_key_bytes = 8, .max_value_bytes = 16, .max_list_length = 3, .max_request_bytes = 64};

Request ParseWhole(const std::string& bytes) {
  static const WireLimits limits;
  RequestParser parser(&limits);
  Request request;
  const auto length = parser.Parse(bytes, &request);
  EXPECT_OK(length);
  EXPECT_EQ(length.value_or(0), bytes.size());
  return request;
}

std::vector<std::string> Strings(EncodedStrings list) {
  std::vector<std::string> strings;
  while (!list.done()) strings.emplace_back(list.Next());
  return strings;
}

TEST(RequestParserTest, DecodesEachKindOfField) {
  EXPECT_EQ(ParseWhole(testing::Validate()).number, kValidationMagic);
  EXPECT_EQ(ParseWhole(testing::Ping(0xffffffff)).number, 0xffffffff);
  EXPECT_EQ(ParseWhole(testing::Add("k", -5)).number, -5);
  const std::string bytes = testing::CompareSet("k", "old", "new");
  const Request compare_set = ParseWhole(bytes);
  EXPECT_EQ(compare_set.type, QueryType::kCompareSet);
  EXPECT_EQ(compare_set.key, "k");
  EXPECT_EQ(compare_set.value, "old");
  EXPECT_EQ(compare_set.desired, "new");
  const std::string pairs = testing::MultiSet({{"a", "1"}, {"b", ""}});
  const Request multi_set = ParseWhole(pairs);
  EXPECT_EQ(multi_set.list_length, 2u);
  EXPECT_EQ(Strings(multi_set.list), (std::vector<std::string>{"a", "1", "b", ""}));
  EXPECT_TRUE(ParseWhole(testing::Wait({})).list.done());
}

// Describes a decoded request, except where its bytes are.
std::string Describe(const Request& request) {
  std::string text = std::to_string(static_cast<int>(request.type)) + " " +
                     std::to_string(request.number) + " " + std::string(request.key) + " " +
                     std::string(request.value) + " " + std::string(request.desired);
  for (const std::string& string : Strings(request.list)) text += " [" + string + "]";
  return text;
}

TEST(RequestParserTest, EveryCutGivesTheSameRequest) {
  std::vector<std::string> queries = testing::OneOfEach();
  queries.push_back(testing::Validate());
  const WireLimits limits;
  for (const std::string& query : queries) {
    const std::string whole = Describe(ParseWhole(query));
    for (size_t cut = 0; cut < query.size(); ++cut) {
      RequestParser parser(&limits);
      Request request;
      // Parses a copy each time, because the bytes may move between calls.
      const auto half = parser.Parse(std::string(query, 0, cut), &request);
      ASSERT_OK(half);
      EXPECT_EQ(*half, 0u);
      EXPECT_GT(parser.needed(), cut);
      EXPECT_LE(parser.needed(), query.size());
      const auto length = parser.Parse(query, &request);
      ASSERT_OK(length);
      EXPECT_EQ(*length, query.size());
      EXPECT_EQ(Describe(request), whole);
    }
  }
}

TEST(RequestParserTest, ParsesByteByByteAndThenTheNextOne) {
  const WireLimits limits;
  RequestParser parser(&limits);
  for (const std::string& query : testing::OneOfEach()) {
    for (size_t size = 0; size < query.size(); ++size) {
      Request request;
      ASSERT_EQ(*parser.Parse(absl::string_view(query).substr(0, size), &request), 0u);
    }
    Request request;
    ASSERT_EQ(*parser.Parse(query + "\x01more", &request), query.size());
  }
}

TEST(RequestParserTest, RefusesUnknownTypes) {
  const WireLimits limits;
  for (int type = kQueryTypes; type < 256; ++type) {
    RequestParser parser(&limits);
    Request request;
    EXPECT_THAT(parser.Parse(std::string(1, static_cast<char>(type)), &request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown query type")));
  }
}

TEST(RequestParserTest, AcceptsWhatIsExactlyAtTheLimits) {
  RequestParser parser(&kSmallLimits);
  Request request;
  const std::string set = testing::Set(std::string(8, 'k'), std::string(16, 'v'));
  EXPECT_EQ(*parser.Parse(set, &request), set.size());
  const std::string check = testing::KeysQuery(QueryType::kCheck, {"a", "b", "c"});
  EXPECT_EQ(*parser.Parse(check, &request), check.size());
}

// Each is rejected at its length, before a byte of the announced content has arrived.
TEST(RequestParserTest, RefusesLengthsOverTheLimitsAtOnce) {
  const uint64_t kHuge = ~uint64_t{0};
  const auto query = [](QueryType type, uint64_t length) {
    return testing::Raw(type) + testing::Raw(length);
  };
  const std::vector<std::string> refused = {
      query(QueryType::kGet, 9),
      query(QueryType::kGet, kHuge),
      query(QueryType::kSet, 9),
      testing::Query(QueryType::kSet, "k") + testing::Raw<uint64_t>(17),
      testing::Query(QueryType::kSet, "k") + testing::Raw(kHuge),
      testing::Query(QueryType::kCompareSet, "k", "v") + testing::Raw<uint64_t>(17),
      testing::Query(QueryType::kAppend, "k") + testing::Raw(kHuge),
      testing::Query(QueryType::kQueuePush, "k") + testing::Raw(kHuge),
      query(QueryType::kCheck, 4),
      query(QueryType::kWait, kHuge),
      query(QueryType::kMultiGet, kHuge / 2),
      query(QueryType::kMultiSet, kHuge / 2 + 2),  // Doubling this overflows.
      query(QueryType::kWait, 2) + testing::Raw<uint64_t>(9),
      query(QueryType::kMultiSet, 1) + testing::Encoded("k") + testing::Raw<uint64_t>(17),
      query(QueryType::kMultiSet, 2) + testing::Encoded("k") + testing::Encoded("v") +
          testing::Raw<uint64_t>(9),
  };
  for (const std::string& bytes : refused) {
    RequestParser parser(&kSmallLimits);
    Request request;
    EXPECT_THAT(parser.Parse(bytes, &request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("over the limit")))
        << "of type " << int{bytes[0]};
    // The same if the length itself arrives in two pieces.
    RequestParser again(&kSmallLimits);
    ASSERT_EQ(*again.Parse(absl::string_view(bytes).substr(0, bytes.size() - 1), &request), 0u);
    EXPECT_THAT(again.Parse(bytes, &request), StatusIs(absl::StatusCode::kInvalidArgument, _));
  }
}

TEST(RequestParserTest, RefusesARequestThatIsTooLongInAll) {
  // Every part is within its limit.
  const std::string bytes =
      testing::MultiSet({{"12345678", "1234567890123456"}, {"12345678", "1234567890123456"}});
  for (size_t size = 0; size <= bytes.size(); ++size) {
    RequestParser parser(&kSmallLimits);
    Request request;
    const auto length = parser.Parse(absl::string_view(bytes).substr(0, size), &request);
    if (length.ok()) {
      EXPECT_EQ(*length, 0u);
      EXPECT_LE(parser.needed(), kSmallLimits.max_request_bytes + sizeof(uint64_t));
    } else {
      EXPECT_LT(size, bytes.size());  // Rejected before the last byte was needed.
      return;
    }
  }
  FAIL() << "never refused";
}

}  // namespace
}  // namespace accel::rendezvous
