#include "cli/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_join.h"

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int Echo(const std::vector<std::string>& args, const Console& console) {
  console.out << absl::StrJoin(args, "|");
  return 7;
}

struct Result {
  int exit_code;
  std::string out;
  std::string err;
};

Result Accel(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int exit_code = Dispatch({{"submit", "give it a job", Echo}, {"logs", "show", Echo}}, words,
                                 Console{out, err});
  return {exit_code, out.str(), err.str()};
}

TEST(Dispatch, HandsTheWordsOn) {
  const Result result = Accel({"submit", "--help", "-x", "--version"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "--help|-x|--version");
}

TEST(Dispatch, HelpListsTheCommands) {
  for (const char* word : {"--help", "-h", "help"}) {
    const Result result = Accel({word});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("\n  submit  give it a job\n  logs    show\n"));
  }
  EXPECT_EQ(Accel({"help", "logs"}).out, "--help");
}

TEST(Dispatch, WithoutACommandThereIsHelpOnStandardError) {
  const Result result = Accel({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("Usage: accel COMMAND"));
}

TEST(Dispatch, ACommandForTpusIsRefused) {
  const Result result = Accel({"tpu-config", "--tpu_name", "x"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "accel: tpu-config: accel does not drive TPUs\n");
}

TEST(Dispatch, AnUnknownCommandGetsASuggestion) {
  Result result = Accel({"sumbit"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "accel: there is no command sumbit; did you mean submit?\n");
  result = Accel({"frobnicate"});
  EXPECT_EQ(result.err, "accel: there is no command frobnicate; `accel --help` lists them\n");
}

TEST(Dispatch, VersionIsOneLine) {
  const Result result = Accel({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("accel 0."));
}

}  // namespace
}  // namespace accel::cli
