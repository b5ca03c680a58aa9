#include "cli/completion/complete_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace accel::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<Command> kCommands = {
    {"launch", "run a program", nullptr},
    {"logs", "print output", nullptr},
    {"config", "make files", nullptr, {"default", "check"}},
};

common::CommandHelp DescribeCommand(const Command& command, const std::vector<std::string>& words) {
  common::CommandHelp help;
  help.flags = {{"help", "h", "", "print this", "", {}},
                {"num_processes", "", "N", "how many; at least one", "", {}},
                {"stream", "", "stdout|stderr", "only this", "", {"stdout", "stderr"}},
                {"config_file", "", "FILE", "settings", "", {}}};
  help.has_program = command.name == "launch";
  if (command.name == "logs") help.arguments = {"JOB"};
  if (command.name == "config" && words.size() > 2 && words[1] == "check")
    help.arguments = {"FILE"};
  return help;
}

std::vector<std::string> Words(const Completion& completion) {
  std::vector<std::string> words;
  for (const Candidate& candidate : completion.candidates) words.push_back(candidate.word);
  return words;
}

Completion Complete(std::vector<std::string> words) {
  return CompleteWords(kCommands, std::move(words), DescribeCommand);
}

TEST(CompleteWords, TheFirstWordIsACommand) {
  EXPECT_THAT(Words(Complete({""})), ElementsAre("launch", "logs", "config", "help"));
  EXPECT_THAT(Words(Complete({"l"})), ElementsAre("launch", "logs"));
  EXPECT_THAT(Words(Complete({"--v"})), ElementsAre("--version"));
  EXPECT_THAT(Words(Complete({"help", "c"})), ElementsAre("config"));
  EXPECT_EQ(Complete({"la"}).candidates[0].about, "run a program");
}

TEST(CompleteWords, FlagsKeepTheSpellingThatWasBegun) {
  EXPECT_THAT(Words(Complete({"logs", "--"})),
              ElementsAre("--help", "--num_processes", "--stream", "--config_file"));
  EXPECT_THAT(Words(Complete({"logs", "--num-"})), ElementsAre("--num-processes"));
  EXPECT_EQ(Complete({"logs", "--num"}).candidates[0].about, "how many");
}

TEST(CompleteWords, ValuesFollowTheirFlagInTheSameWordOrTheNext) {
  EXPECT_THAT(Words(Complete({"logs", "--stream", ""})), ElementsAre("stdout", "stderr"));
  EXPECT_THAT(Words(Complete({"logs", "--stream=stde"})), ElementsAre("--stream=stderr"));
  EXPECT_EQ(Complete({"logs", "--config_file", "x"}).follows, Follows::kFiles);
  EXPECT_THAT(Words(Complete({"logs", "--num_processes", ""})), IsEmpty());
  EXPECT_EQ(Complete({"logs", "--num_processes", ""}).follows, Follows::kNothing);
}

TEST(CompleteWords, ArgumentsAreJobsOrFilesInTheirOrder) {
  EXPECT_EQ(Complete({"logs", ""}).follows, Follows::kJobs);
  EXPECT_EQ(Complete({"logs", "--stream", "stdout", "a"}).follows, Follows::kJobs);
  EXPECT_EQ(Complete({"logs", "a0x2", ""}).follows, Follows::kNothing);
  EXPECT_EQ(Complete({"config", "check", ""}).follows, Follows::kFiles);
  EXPECT_THAT(Words(Complete({"config", "d"})), ElementsAre("default"));
}

TEST(CompleteWords, TheWordsOfAProgramAreItsOwn) {
  EXPECT_EQ(Complete({"launch", "tr"}).follows, Follows::kFiles);
  const Completion after = Complete({"launch", "train.py", "--"});
  EXPECT_THAT(Words(after), IsEmpty());
  EXPECT_EQ(after.follows, Follows::kFiles);
}

TEST(CompleteWords, AnUnknownCommandHasNoCandidates) {
  EXPECT_THAT(Words(Complete({"bogus", "--"})), IsEmpty());
  EXPECT_THAT(Words(Complete({"logs", "--bogus=x"})), IsEmpty());
}

}  // namespace
}  // namespace accel::cli
