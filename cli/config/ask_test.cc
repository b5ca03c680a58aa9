#include "cli/config/ask.h"

#include <sstream>
#include <utility>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

struct Asked {
  absl::StatusOr<std::vector<FileSetting>> settings;
  std::string out, err;
};

Asked AskWith(const std::string& lines, bool ask_again) {
  std::istringstream in(lines);
  std::ostringstream out, err;
  LineAnswers source(in, out);
  auto settings = AskAll(source, ask_again, Console{out, err});
  return {std::move(settings), out.str(), err.str()};
}

TEST(AskAll, ReadsLines) {
  const Asked asked = AskWith("\nyes\nno\nbf16\n", false);
  ASSERT_OK(asked.settings);
  EXPECT_THAT(asked.out, HasSubstr("Which type of machine are you using?\n  0  No distributed "
                                   "training\n  1  multi-CPU\n  2  multi-GPU [No distributed "
                                   "training]: "));
  EXPECT_THAT(asked.out, HasSubstr("yes or no [no]: "));
}

TEST(AskAll, DoesNotNumberNumbers) {
  // Neither torch dynamo nor DeepSpeed, then FSDP.
  const std::string lines = "multi-GPU\n1\nno\nno\nno\nyes\n";
  const Asked asked = AskWith(lines + "1\n", false);
  EXPECT_THAT(asked.out, HasSubstr("What should be your FSDP version?\n  1\n  2 [2]: "));
  EXPECT_THAT(asked.out, HasSubstr("What should be your sharding strategy?"));
  EXPECT_THAT(AskWith(lines + "0\n", false).settings,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("please enter one of: 1, 2")));
}

TEST(AskAll, SaysAtWhichQuestionTheInputEnds) {
  EXPECT_THAT(AskWith("multi-CPU\n", false).settings,
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("ended at the question \"How many different machines")));
}

TEST(AskAll, AsksAgainOnATerminalOnly) {
  const Asked asked = AskWith("tpu\n\nyes\nno\n\n", true);
  EXPECT_OK(asked.settings);
  EXPECT_THAT(asked.err, HasSubstr("accel: please enter one of: No distributed training"));
  EXPECT_THAT(AskWith("tpu\n", false).settings,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the answer \"tpu\" to")));
}

}  // namespace
}  // namespace accel::cli
