#include "rendezvous/core/session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/core/request_encoder.h"

namespace accel::rendezvous {
namespace {

using ::accel::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr WireLimits kLimits;

// A store with one session.
class Conversation {
 public:
  explicit Conversation(size_t memory_limit = 1 << 20, const WireLimits* limits = &kLimits)
      : budget_(memory_limit), state_(&budget_), session_(1, limits, &budget_, &state_) {}

  // Sends `bytes` in pieces of at most `piece`, as a socket would.
  absl::Status Send(absl::string_view bytes, size_t piece = 1 << 16) {
    while (!bytes.empty()) {
      const auto target = session_.ReadTarget(absl::MakeSpan(scratch_));
      if (!target.ok()) return target.status();
      const size_t size = std::min({bytes.size(), target->size(), piece});
      std::memcpy(target->data(), bytes.data(), size);
      bytes.remove_prefix(size);
      ByteBuffer reply(&budget_);
      std::vector<ConnectionId> woken;
      const absl::Status status =
          session_.Receive(absl::string_view(target->data(), size), &reply, &woken);
      replies_ += std::string(reply.view());
      replies_.append(woken.size(), static_cast<char>(WaitResponse::kStopWaiting));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const std::string& replies() const { return replies_; }
  bool mid_request() const { return session_.mid_request(); }
  size_t memory_used() const { return budget_.used(); }

 private:
  MemoryBudget budget_;
  StoreState state_;
  Session session_;
  std::vector<char> scratch_ = std::vector<char>(1 << 16);
  std::string replies_;
};

// Sends list_keys first, while there is no key, because later its answer may have any order.
std::string WholeConversation() {
  std::string bytes = testing::Validate() + testing::Query(QueryType::kListKeys);
  std::vector<std::string> queries = testing::OneOfEach();
  queries.pop_back();
  for (const std::string& query : queries) bytes += query;
  return bytes;
}

std::string Sorted(std::string bytes) {
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

TEST(SessionTest, AnswersPingAfterValidation) {
  Conversation conversation;
  ASSERT_OK(conversation.Send(testing::Validate() + testing::Ping(4711)));
  EXPECT_EQ(conversation.replies(), testing::Raw<uint32_t>(4711));
  EXPECT_FALSE(conversation.mid_request());
}

TEST(SessionTest, NothingBeforeValidation) {
  for (const std::string& query : testing::OneOfEach()) {
    Conversation conversation;
    EXPECT_THAT(conversation.Send(query, 1), StatusIs(absl::StatusCode::kInvalidArgument, _));
    EXPECT_EQ(conversation.memory_used(), 0u);  // Rejected by its first byte.
  }
}

TEST(SessionTest, ValidationOnceAndRight) {
  Conversation wrong;
  EXPECT_THAT(wrong.Send(testing::Validate(kValidationMagic + 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("wrong number")));
  Conversation twice;
  EXPECT_THAT(twice.Send(testing::Validate() + testing::Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("second")));
}

TEST(SessionTest, EveryCutOfAConversationGetsTheSameAnswers) {
  const std::string bytes = WholeConversation();
  Conversation whole;
  ASSERT_OK(whole.Send(bytes));
  ASSERT_FALSE(whole.replies().empty());
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    Conversation cut_once;
    ASSERT_OK(cut_once.Send(bytes.substr(0, cut)));
    ASSERT_OK(cut_once.Send(bytes.substr(cut)));
    EXPECT_EQ(cut_once.replies(), whole.replies()) << "cut at " << cut;
    Conversation in_pieces;
    ASSERT_OK(in_pieces.Send(bytes, cut));
    EXPECT_EQ(in_pieces.replies(), whole.replies()) << "pieces of " << cut;
    EXPECT_EQ(in_pieces.memory_used(), whole.memory_used());
  }
}

TEST(SessionTest, HoldsNoMoreThanHasArrivedWhateverIsAnnounced) {
  Conversation conversation(64 << 20);
  ASSERT_OK(conversation.Send(testing::Validate()));
  const std::string announced = testing::Set("k", std::string(40 << 20, 'v'));
  ASSERT_OK(conversation.Send(absl::string_view(announced).substr(0, 100)));
  EXPECT_LT(conversation.memory_used(), 1000u);
  EXPECT_TRUE(conversation.mid_request());
  ASSERT_OK(conversation.Send(absl::string_view(announced).substr(100, 100000)));
  EXPECT_LT(conversation.memory_used(), 300000u);
}

TEST(SessionTest, GivesBackWhatALargeRequestNeeded) {
  Conversation conversation(64 << 20);
  const std::string value(10 << 20, 'v');
  ASSERT_OK(conversation.Send(testing::Validate() + testing::Set("k", value), 30000));
  EXPECT_LT(conversation.memory_used(), value.size() + 1000);
  ASSERT_OK(conversation.Send(testing::Get("k")));
  EXPECT_EQ(conversation.replies(), testing::Encoded(value));
  ASSERT_OK(conversation.Send(testing::Query(QueryType::kDeleteKey, "k")));
  EXPECT_EQ(conversation.memory_used(), 0u);
}

TEST(SessionTest, ARequestThatDoesNotFitIsRefused) {
  Conversation conversation(1 << 20);
  const std::string value(2 << 20, 'v');
  EXPECT_THAT(conversation.Send(testing::Validate() + testing::Set("k", value)),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
}

// For any bytes, from nearly correct to noise, the memory never exceeds the limit. Splitting the
// bytes differently changes neither the answers nor the end.
TEST(SessionTest, AnyBytesInAnyPieces) {
  constexpr size_t kMemoryLimit = 64 << 10;
  const WireLimits limits = {.max_key_bytes = 64,
                             .max_value_bytes = 4096,
                             .max_list_length = 16,
                             .max_request_bytes = 8192};
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](size_t n) { return random() % n; };
    const std::vector<std::string> queries = testing::OneOfEach();
    std::string bytes = testing::Validate();
    for (size_t i = 0; i < 30; ++i) bytes += queries[below(queries.size())];
    for (size_t mutations = below(6); mutations > 0; --mutations) {
      const size_t at = 5 + below(bytes.size() - 5);
      switch (below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, below(20));
          break;
        default:
          bytes.insert(at, std::string(below(20), static_cast<char>(random())));
      }
      if (bytes.size() < 10) bytes += WholeConversation();
    }
    Conversation whole(kMemoryLimit, &limits);
    Conversation cut(kMemoryLimit, &limits);
    const absl::Status whole_status = whole.Send(bytes);
    const absl::Status cut_status = cut.Send(bytes, 1 + below(40));
    EXPECT_EQ(whole_status.code(), cut_status.code());
    EXPECT_EQ(Sorted(whole.replies()), Sorted(cut.replies()));  // Keys are listed in any order.
    EXPECT_LE(whole.memory_used(), kMemoryLimit);
    EXPECT_LE(cut.memory_used(), kMemoryLimit);
  }
}

TEST(SessionTest, NoiseIsRefusedOrWaitsForMore) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string noise = testing::Validate();
    for (size_t size = random() % 300; size > 0; --size) noise += static_cast<char>(random());
    Conversation conversation(64 << 10);
    const absl::Status status = conversation.Send(noise, 1 + random() % 300);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status << " seed " << seed;
  }
}

}  // namespace
}  // namespace accel::rendezvous
