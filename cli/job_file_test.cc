#include "cli/job_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "cli/submit_flags.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Submits `args` with a job file of this text. Returns the flags.
absl::StatusOr<SubmitFlags> Submit(const std::vector<std::string>& args, size_t program_words,
                                   const std::string& text) {
  SubmitFlags scratch, flags;
  FlagSet check = MakeSubmitFlagSet(&scratch);
  ACCEL_ASSIGN_OR_RETURN(const auto expanded, ExpandJobFile(args, program_words, text, check));
  ACCEL_RETURN_IF_ERROR(MakeSubmitFlagSet(&flags).Parse(expanded));
  return flags;
}

TEST(ExpandJobFile, ReadsEveryKindOfValue) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Submit({"job.yaml"}, 1,
                              "program: ./train\nargs: [--epochs, 3, 'a b']\nnodes: '2:4'\n"
                              "processes_per_node: 4\ngpu_ids: [0, 2]\nwait: true\n"
                              "time_limit: 2h\nenv: {A: 1, B: x y}\ncpu: false\n"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("./train", "--epochs", "3", "a b"));
  EXPECT_EQ(flags.nodes.max, 4);
  EXPECT_THAT(flags.processes_per_node, ElementsAre(4));
  EXPECT_THAT(flags.job.gpu_ids, ElementsAre(0, 2));
  EXPECT_THAT(flags.job.env, ElementsAre("A=1", "B=x y"));
  EXPECT_TRUE(flags.wait);
  EXPECT_FALSE(flags.job.cpu);
}

TEST(ExpandJobFile, KeepsWordsAsTheFileHasThem) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Submit({"job.yaml"}, 1,
                              "program: 007\nargs: [--lr, 0.10, --on, yes, 1e-3]\n"
                              "env: {VERSION: 1.10, PIN: 0123, EMPTY: , ON: yes}\n"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("007", "--lr", "0.10", "--on", "yes", "1e-3"));
  EXPECT_THAT(flags.job.env, ElementsAre("VERSION=1.10", "PIN=0123", "EMPTY=", "ON=yes"));
}

TEST(ExpandJobFile, TheCommandLineWins) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Submit({"--nodes", "3", "--env", "A=2", "job.yaml", "--lr", "1"}, 3,
                              "program: train.py\nnodes: 2\nenv: [A=1]\nargs: [x]\n"));
  EXPECT_EQ(flags.nodes.max, 3);
  EXPECT_THAT(flags.job.env, ElementsAre("A=1", "A=2"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("train.py", "x", "--lr", "1"));
}

TEST(ExpandJobFile, NamesThePlaceOfAMistake) {
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nnods: 2\n"),
              StatusIs(kInvalid, "j.yaml:2:1: unknown key nods; did you mean nodes?"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nnodes: many\n"),
              StatusIs(kInvalid, HasSubstr("j.yaml:2:8: --nodes \"many\": it must be a number")));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "nodes: 2\n"),
              StatusIs(kInvalid, "j.yaml:1:1: program is missing"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: {a: b}\n"),
              StatusIs(kInvalid, "j.yaml:1:10: program must be a plain value"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: [a, b]\n"),
              StatusIs(kInvalid, "j.yaml:1:10: program must be a plain value"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nenv: {A: [1, 2]}\n"),
              StatusIs(kInvalid, "j.yaml:2:10: A must be a plain value"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nhelp: true\n"),
              StatusIs(kInvalid, HasSubstr("j.yaml:2:1: unknown key help")));
}

TEST(ExpandJobFile, ReadsJson) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Submit({"job.json"}, 1,
                              "{\"program\": \"./train\", \"args\": [\"--lr\", 0.10],\n"
                              "\t\"nodes\": 2, \"env\": {\"A\": \"b\"}, \"cpu\": true}"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("./train", "--lr", "0.10"));
  EXPECT_EQ(flags.nodes.max, 2);
  EXPECT_THAT(flags.job.env, ElementsAre("A=b"));
  EXPECT_TRUE(flags.job.cpu);
}

TEST(ExpandJobFile, ReadsEveryCharacterOfJson) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Submit({"j.json"}, 1, R"({"program":"/bin/echo","args":["\ud83d\ude00"]})"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("/bin/echo", "\xf0\x9f\x98\x80"));
}

TEST(ExpandJobFile, RefusesNullAsAWord) {
  EXPECT_THAT(Submit({"j.json"}, 1, "{\"program\": \"a\",\n\"args\": [\"b\", null]}"),
              StatusIs(kInvalid, "j.json:2:15: args: null is no word; write \"\" or \"null\""));
  EXPECT_OK(Submit({"j.yaml"}, 1, "program: a\nargs: ['', \"null\"]\n"));
}

TEST(ExpandJobFile, SaysWhatAnEmptyFileNeeds) {
  EXPECT_THAT(Submit({"j.yaml"}, 1, ""),
              StatusIs(kInvalid, "j.yaml:1:1: the file is empty; it must hold at least program"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "[]"), StatusIs(kInvalid, HasSubstr("such as program: ./tr")));
}

TEST(ExpandJobFile, ChecksTheNamesOfVariables) {
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nenv: {A: 1, B=C: 2}\n"),
              StatusIs(kInvalid,
                       "j.yaml:2:13: env: \"B=C\" is not the name of a variable; write "
                       "NAME: VALUE"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nenv: {'': 2}\n"),
              StatusIs(kInvalid, HasSubstr("j.yaml:2:7: env: \"\" is not the name")));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nenv: [=2]\n"),
              StatusIs(kInvalid, HasSubstr("j.yaml:2:6: env: \"=2\" must be NAME=VALUE")));
  EXPECT_OK(Submit({"j.yaml"}, 1, "program: a\nenv: [A=b=c]\n"));
}

TEST(ExpandJobFile, SaysWhatToUseInsteadOfFlagsOfLaunch) {
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nnum_processes: 4\n"),
              StatusIs(kInvalid,
                       "j.yaml:2:1: num_processes is the number on all nodes; use "
                       "processes_per_node, and nodes"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nfsdp_version: 2\n"),
              StatusIs(kInvalid,
                       HasSubstr("j.yaml:2:1: fsdp_version is a key of a configuration file; n")));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\ntee: 3\n"),
              StatusIs(kInvalid,
                       "j.yaml:2:1: tee is a flag of `accel launch`; `accel logs` shows the "
                       "output"));
  EXPECT_THAT(Submit({"j.yaml"}, 1, "program: a\nuse_fsdp: true\n"),
              StatusIs(kInvalid, HasSubstr("name a file of FSDP with config_file: FILE")));
  for (const char* key : {"role", "monitor_interval", "rdzv_conf", "quiet"}) {
    EXPECT_THAT(Submit({"j.yaml"}, 1, absl::StrCat("program: a\n", key, ": 1\n")),
                StatusIs(kInvalid, absl::StrCat("j.yaml:2:1: ", key,
                                                " is a flag of `accel launch`; `accel submit` has "
                                                "no such setting")));
  }
  for (const char* key :
       {"rdzv_endpoint", "multi_gpu", "log_dir", "num_cpu_threads_per_process", "use_deepspeed"}) {
    EXPECT_THAT(Submit({"j.yaml"}, 1, absl::StrCat("program: a\n", key, ": 1\n")),
                StatusIs(kInvalid, Not(HasSubstr("is a key of a configuration file"))));
  }
}

TEST(ExpandJobFile, AcceptsEverySampleFile) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("configs/jobs")) {
    ++files;
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_OK(Submit({file.path().string()}, 1, text));
  }
  EXPECT_GE(files, 1);
}

TEST(IsJobFile, LooksAtTheEnding) {
  EXPECT_TRUE(IsJobFile("job.yaml"));
  EXPECT_TRUE(IsJobFile("./job.yml"));
  EXPECT_TRUE(IsJobFile("job.json"));
  EXPECT_FALSE(IsJobFile("yaml"));
}

}  // namespace
}  // namespace accel::cli
