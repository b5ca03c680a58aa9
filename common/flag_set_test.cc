#include "common/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Values {
  bool cpu = false;
  bool module = false;
  int num_processes = 0;
  std::string name;
  std::vector<std::string> env;
  std::vector<std::string> program;
  std::string job;
};

FlagSet MakeSet(Values* to) {
  FlagSet flags("accel try", "[flags] PROGRAM", "Tries the flags.");
  flags.Switch("cpu", "use no GPU", &to->cpu);
  flags.Switch("module,m", "a module", &to->module);
  flags.Int("num_processes", "N", "how many", &to->num_processes, 1, 64);
  flags.Text("name", "NAME", "what to call it", &to->name);
  flags.Repeated("env", "NAME=VALUE", "a variable", &to->env);
  return flags;
}

absl::Status ParseProgram(const std::vector<std::string>& args, Values* to) {
  FlagSet flags = MakeSet(to);
  flags.Program(&to->program);
  return flags.Parse(args);
}

absl::Status ParseWithJob(const std::vector<std::string>& args, bool required, Values* to) {
  FlagSet flags = MakeSet(to);
  flags.Argument("JOB", required, &to->job);
  return flags.Parse(args);
}

TEST(Flags, UnderscoresAndDashesAreTheSame) {
  for (const char* spelling : {"--num_processes", "--num-processes"}) {
    Values values;
    EXPECT_OK(ParseProgram({spelling, "4", "train"}, &values));
    EXPECT_EQ(values.num_processes, 4);
    EXPECT_THAT(values.program, ElementsAre("train"));
  }
}

TEST(Flags, ValuesFollowASpaceOrAnEqualsSign) {
  Values values;
  EXPECT_OK(ParseProgram({"--num_processes=4", "--name=a=b", "--env", "A=1", "--env=B=", "-m", "p"},
                         &values));
  EXPECT_EQ(values.num_processes, 4);
  EXPECT_EQ(values.name, "a=b");
  EXPECT_THAT(values.env, ElementsAre("A=1", "B="));
  EXPECT_TRUE(values.module);
  EXPECT_FALSE(values.cpu);
}

TEST(Flags, ARepeatedFlagTakesOneWordEachTime) {
  Values values;
  EXPECT_OK(ParseProgram({"--env", "[A=1,2]", "train", "B"}, &values));
  EXPECT_THAT(values.env, ElementsAre("[A=1,2]"));
  EXPECT_THAT(values.program, ElementsAre("train", "B"));
}

TEST(Flags, TheLastValueWins) {
  Values values;
  EXPECT_OK(ParseProgram({"--name", "a", "--cpu", "--name", "b", "--cpu", "train"}, &values));
  EXPECT_EQ(values.name, "b");
  EXPECT_TRUE(values.cpu);
}

TEST(Flags, ASwitchMayBeSetToFalse) {
  Values values;
  values.cpu = true;
  EXPECT_OK(ParseProgram({"--cpu=false", "train"}, &values));
  EXPECT_FALSE(values.cpu);
  EXPECT_THAT(ParseProgram({"--cpu=perhaps", "train"}, &values),
              StatusIs(kInvalid, "--cpu \"perhaps\": it must be true or false"));
}

TEST(Flags, AnEmptyValueIsNotTheNextWord) {
  Values values;
  EXPECT_THAT(ParseProgram({"--name=", "train"}, &values),
              StatusIs(kInvalid, AllOf(HasSubstr("--name \"\""), HasSubstr("empty"))));
  EXPECT_OK(ParseProgram({"--env=", "train", "--empty="}, &values));
  EXPECT_THAT(values.env, ElementsAre(""));
  EXPECT_THAT(values.program, ElementsAre("train", "--empty="));
}

TEST(Flags, WhatFollowsTheProgramIsItsOwn) {
  Values values;
  EXPECT_OK(ParseProgram(
      {"--cpu", "train", "--num_processes", "0", "--name=", "-m", "--", "--help", "--bogus"},
      &values));
  EXPECT_THAT(values.program, ElementsAre("train", "--num_processes", "0", "--name=", "-m", "--",
                                          "--help", "--bogus"));
  EXPECT_EQ(values.num_processes, 0);
  EXPECT_FALSE(values.module);
}

TEST(Flags, TwoDashesEndTheFlags) {
  Values values;
  EXPECT_OK(ParseProgram({"--cpu", "--", "--odd-name", "--", "--cpu"}, &values));
  EXPECT_THAT(values.program, ElementsAre("--odd-name", "--", "--cpu"));
  EXPECT_OK(ParseProgram({}, &values));
  EXPECT_THAT(values.program, IsEmpty());
}

TEST(Flags, AnUnknownFlagIsNamedWithTheNearestOne) {
  Values values;
  EXPECT_THAT(ParseProgram({"--num_proceses", "4", "train"}, &values),
              StatusIs(kInvalid, "unknown flag --num_proceses; did you mean --num_processes?"));
  EXPECT_THAT(ParseProgram({"--num-proceses=4", "train"}, &values),
              StatusIs(kInvalid, "unknown flag --num-proceses; did you mean --num-processes?"));
  EXPECT_THAT(ParseProgram({"--zzz", "train"}, &values),
              StatusIs(kInvalid, "unknown flag --zzz; `accel try --help` lists the flags"));
  EXPECT_THAT(ParseProgram({"-x", "train"}, &values),
              StatusIs(kInvalid, HasSubstr("unknown flag -x")));
  EXPECT_THAT(ParseProgram({"---cpu", "train"}, &values),
              StatusIs(kInvalid, HasSubstr("unknown flag ---cpu")));
}

TEST(Flags, NamesAreNotAbbreviated) {
  Values values;
  EXPECT_THAT(ParseProgram({"--num", "4", "train"}, &values),
              StatusIs(kInvalid, HasSubstr("unknown flag --num")));
}

TEST(Flags, ABadValueIsQuotedWithWhatItShouldBe) {
  Values values;
  for (const char* bad : {"0", "65", "-3", "x", "4x", "99999999999", ""}) {
    EXPECT_THAT(ParseProgram({"--num_processes", bad, "train"}, &values),
                StatusIs(kInvalid, absl::StrCat("--num_processes \"", bad,
                                                "\": it must be a number from 1 to 64")));
  }
  EXPECT_THAT(ParseProgram({"--cpu", "--name"}, &values),
              StatusIs(kInvalid, "--name needs a value"));
}

TEST(Flags, ArgumentsMayStandBetweenFlags) {
  Values values;
  EXPECT_OK(ParseWithJob({"--cpu", "a0x2", "--name", "n"}, true, &values));
  EXPECT_EQ(values.job, "a0x2");
  EXPECT_TRUE(values.cpu);
  EXPECT_EQ(values.name, "n");
}

TEST(Flags, ArgumentsAreCounted) {
  Values values;
  EXPECT_THAT(ParseWithJob({}, true, &values), StatusIs(kInvalid, HasSubstr("JOB is missing")));
  EXPECT_OK(ParseWithJob({}, false, &values));
  EXPECT_THAT(ParseWithJob({"a", "b"}, false, &values),
              StatusIs(kInvalid, HasSubstr("unexpected \"b\"")));
}

TEST(Flags, HelpWinsOverEverythingElse) {
  Values values;
  FlagSet flags = MakeSet(&values);
  flags.Argument("JOB", true, &values.job);
  flags.Footer("The end.");
  EXPECT_OK(flags.Parse({"--num_processes", "0", "-h"}));
  EXPECT_TRUE(flags.help_requested());
  EXPECT_EQ(flags.Help(), R"(Usage: accel try [flags] PROGRAM

Tries the flags.

Flags:
  -h, --help
      print this and exit
  --cpu
      use no GPU
  -m, --module
      a module
  --num_processes N
      how many
  --name NAME
      what to call it
  --env NAME=VALUE
      a variable

The end.
)");
}

TEST(Flags, TheManualPageComesFromTheSameFlags) {
  Values values;
  FlagSet flags = MakeSet(&values);
  EXPECT_OK(flags.Parse({"--help_man"}));
  EXPECT_TRUE(flags.help_requested());
  EXPECT_THAT(flags.Help(), ::testing::StartsWith(".TH \"ACCEL-TRY\" 1 "));
  EXPECT_THAT(flags.Help(), HasSubstr("\\fB\\-\\-num_processes\\fR \\fIN\\fR\nhow many\n"));
  EXPECT_THAT(flags.Help(), ::testing::Not(HasSubstr("help_man")));
}

TEST(Flags, DescribeThemselves) {
  Values values;
  FlagSet flags = MakeSet(&values);
  flags.Choice("color", {"red", "blue"}, "what it looks like", nullptr);
  flags.Argument("JOB", true, &values.job);
  const CommandHelp help = flags.Describe();
  EXPECT_THAT(help.arguments, ElementsAre("JOB"));
  EXPECT_FALSE(help.has_program);
  EXPECT_EQ(help.flags.back().name, "color");
  EXPECT_THAT(help.flags.back().choices, ElementsAre("red", "blue"));
}

}  // namespace
}  // namespace accel::common
