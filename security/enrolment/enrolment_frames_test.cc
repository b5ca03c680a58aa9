#include "security/enrolment/enrolment_frames.h"

#include <random>
#include <string>

#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

EnrolmentRequest Request() {
  return {
      PrincipalKind::kNode, "id", std::string("s\0cret", 6), "csr", "4af1", "n7", "host", "1.0"};
}

EnrolmentAnswer Answer() { return {absl::OkStatus(), "certificate", "authorities", "c1", "4af1"}; }

TEST(FramesTest, RequestsAreReadBack) {
  ASSERT_OK_AND_ASSIGN(const EnrolmentRequest read, DecodeRequest(EncodeRequest(Request())));
  EXPECT_EQ(read, Request());
}

TEST(FramesTest, AnswersAreReadBack) {
  ASSERT_OK_AND_ASSIGN(const EnrolmentAnswer read, DecodeAnswer(EncodeAnswer(Answer())));
  EXPECT_OK(read.refusal);
  EXPECT_EQ(read.certificate, "certificate");
  EXPECT_EQ(read.authorities, "authorities");
  EXPECT_EQ(read.cluster, "c1");
  EXPECT_EQ(read.name, "4af1");
}

TEST(FramesTest, ARefusalKeepsItsCodeAndSentence) {
  EnrolmentAnswer refusal;
  refusal.refusal = absl::UnauthenticatedError("the key is used up");
  ASSERT_OK_AND_ASSIGN(const EnrolmentAnswer read, DecodeAnswer(EncodeAnswer(refusal)));
  EXPECT_THAT(read.refusal, StatusIs(absl::StatusCode::kUnauthenticated, "the key is used up"));
}

TEST(FramesTest, ALongRefusalIsCutBetweenCharacters) {
  for (int before = 0; before < 4; ++before) {
    std::string sentence(static_cast<size_t>(before), 'x');
    for (int i = 0; i < 600; ++i) sentence += "\u20ac";
    ASSERT_OK_AND_ASSIGN(const EnrolmentAnswer read,
                         DecodeAnswer(EncodeAnswer({.refusal = absl::InternalError(sentence)})));
    EXPECT_GT(read.refusal.message().size(), 1000u);
  }
  ASSERT_OK_AND_ASSIGN(const EnrolmentAnswer read,
                       DecodeAnswer(EncodeAnswer({.refusal = absl::InternalError("\xff")})));
  EXPECT_EQ(read.refusal.message(), "\uFFFD");
}

TEST(FramesTest, WrongFramesAreNamed) {
  const std::string frame = EncodeRequest(Request());
  EXPECT_THAT(DecodeRequest("").status(), StatusIs(kWrong, HasSubstr("ends too early")));
  EXPECT_THAT(DecodeRequest(frame.substr(0, frame.size() - 1)).status(),
              StatusIs(kWrong, HasSubstr("ends too early")));
  EXPECT_THAT(DecodeRequest(frame + "x").status(), StatusIs(kWrong, HasSubstr("after its end")));
  EXPECT_THAT(DecodeRequest(std::string(kMaxFrameBytes + 1, 'x')).status(),
              StatusIs(kWrong, HasSubstr("too long")));
  EnrolmentRequest latin = Request();
  latin.name = "\xe4";
  EXPECT_THAT(DecodeRequest(EncodeRequest(latin)).status(),
              StatusIs(kWrong, HasSubstr("not UTF-8")));
  std::string admin = frame;
  admin[2] = 'x';
  EXPECT_THAT(DecodeRequest(admin).status(), StatusIs(kWrong, HasSubstr("neither a node's")));
  EXPECT_THAT(DecodeAnswer(frame).status(), StatusIs(kWrong, HasSubstr("after its end")));
}

// Every frame that is accepted is the only encoding of what it says.
TEST(FramesTest, ChangedFramesAreRefusedOrMeanSomethingElse) {
  std::mt19937 random(12);
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string frame = EncodeRequest(Request());
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      frame[random() % frame.size()] = static_cast<char>(random() % 16);
    }
    if (random() % 8 == 0) frame.resize(random() % frame.size());
    (void)DecodeAnswer(frame).ok();
    const auto request = DecodeRequest(frame);
    if (!request.ok()) continue;
    ++accepted;
    ASSERT_EQ(EncodeRequest(*request), frame);
  }
  EXPECT_GT(accepted, 10'000);
}

}  // namespace
}  // namespace accel::security
