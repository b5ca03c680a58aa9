#include "cli/job_spec.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

FakeCallerContext Machine() {
  FakeCallerContext fake;
  fake.env = {{"PATH", "/bin"},
              {"VIRTUAL_ENV", "/venv"},
              {"HOME", "/home/ann"},
              {"ACCEL_LOGIN", "secret"},
              {"OMP_NUM_THREADS", "4"}};
  fake.files = {{"/bin/true", FileKind::kExecutable}};
  return fake;
}

SubmitFlags Submit(const std::vector<std::string>& args) {
  SubmitFlags flags;
  EXPECT_OK(MakeSubmitFlagSet(&flags).Parse(args));
  return flags;
}

LaunchFlags Launch(const std::vector<std::string>& args) {
  LaunchFlags flags;
  EXPECT_OK(MakeLaunchFlagSet(&flags).Parse(args));
  return flags;
}

absl::StatusOr<v1::JobSpec> LaunchSpec(const LaunchFlags& flags) {
  const FakeCallerContext machine = Machine();
  HostFacts host;
  host.env = machine.Get().env;
  ACCEL_ASSIGN_OR_RETURN(const LaunchPlan plan,
                         PlanLaunch(EffectiveSettings(std::nullopt, flags.settings), host));
  return MakeLaunchSpec(flags, plan, machine.Get());
}

std::string Text(const absl::StatusOr<v1::JobSpec>& spec) {
  EXPECT_OK(spec);
  std::string text;
  if (spec.ok()) google::protobuf::TextFormat::PrintToString(*spec, &text);
  return text;
}

TEST(MakeSubmitSpec, FillsEveryField) {
  const SubmitFlags flags =
      Submit({"--nodes", "2", "--processes_per_node", "3,4", "--gpu_ids", "0,1", "--max_restarts",
              "5", "--time_limit", "2m", "--mixed_precision", "bf16", "--debug", "--env", "B=x=y",
              "train.py", "--lr", "3"});
  EXPECT_EQ(Text(MakeSubmitSpec(flags, Machine().Get())), R"(name: "train.py"
argv: "/venv/bin/python"
argv: "-u"
argv: "/home/ann/train.py"
argv: "--lr"
argv: "3"
env {
  name: "OMP_NUM_THREADS"
  value: "4"
}
env {
  name: "PATH"
  value: "/bin"
}
env {
  name: "VIRTUAL_ENV"
  value: "/venv"
}
env {
  name: "B"
  value: "x=y"
}
workdir: "/home/ann"
required_paths: "/home/ann"
required_paths: "/venv/bin/python"
required_paths: "/home/ann/train.py"
nodes: 2
processes_per_node: 3
processes_per_node: 4
gpu_ids: 0
gpu_ids: 1
max_restarts: 5
time_limit_ms: 120000
on_agent_loss: KEEP
mixed_precision: "bf16"
debug: true
)");
}

TEST(MakeSubmitSpec, NameAndWorkdirMayBeGiven) {
  const auto spec =
      MakeSubmitSpec(Submit({"--name", "mnist", "--workdir", "data", "./train"}), Machine().Get());
  ASSERT_OK(spec);
  EXPECT_EQ(spec->name(), "mnist");
  EXPECT_EQ(spec->workdir(), "/home/ann/data");
  EXPECT_EQ(spec->required_paths(0), "/home/ann/data");
  EXPECT_EQ(spec->argv(0), "/home/ann/train");
}

TEST(MakeSubmitSpec, SaysWhatOutlivesTheAgent) {
  auto spec = MakeSubmitSpec(Submit({"--on_agent_loss", "end", "./train"}), Machine().Get());
  ASSERT_OK(spec);
  EXPECT_EQ(spec->on_agent_loss(), v1::END);
  spec = MakeSubmitSpec(Submit({"--stop_on_disconnect_after", "10m", "./train"}), Machine().Get());
  ASSERT_OK(spec);
  EXPECT_EQ(spec->on_agent_loss(), v1::KEEP);
  EXPECT_EQ(spec->stop_on_disconnect_after_ms(), 600'000);
}

TEST(MakeSubmitSpec, HasAHangTimeoutOnlyIfOneIsGiven) {
  auto spec = MakeSubmitSpec(Submit({"--hang_timeout", "5m", "./train"}), Machine().Get());
  ASSERT_OK(spec);
  EXPECT_EQ(spec->hang_timeout_ms(), 300'000);
  spec = MakeSubmitSpec(Submit({"./train"}), Machine().Get());
  ASSERT_OK(spec);
  EXPECT_EQ(spec->hang_timeout_ms(), 0);
}

TEST(MakeSubmitSpec, TextThatIsNotUtf8IsRefused) {
  EXPECT_THAT(MakeSubmitSpec(Submit({"/bin/true", "a\xFF"}), Machine().Get()),
              StatusIs(kInvalid, HasSubstr("the argument a\\xff is not UTF-8")));
  EXPECT_THAT(MakeSubmitSpec(Submit({"--env", "X=\xFF", "/bin/true"}), Machine().Get()),
              StatusIs(kInvalid, HasSubstr("the variable X is not UTF-8")));
  EXPECT_OK(LaunchSpec(Launch({"/bin/true", "a\xFF"})));
}

TEST(MakeLaunchSpec, FillsEveryField) {
  const LaunchFlags flags =
      Launch({"--num_processes", "2", "--cpu", "--log_dir", "logs", "true", "--cpu"});
  EXPECT_EQ(Text(LaunchSpec(flags)), R"(name: "true"
argv: "/bin/true"
argv: "--cpu"
env {
  name: "OMP_NUM_THREADS"
  value: "4"
}
env {
  name: "ACCELERATE_MIXED_PRECISION"
  value: "no"
}
env {
  name: "ACCELERATE_DYNAMO_BACKEND"
  value: "NO"
}
env {
  name: "ACCELERATE_DYNAMO_MODE"
  value: "default"
}
env {
  name: "ACCELERATE_DYNAMO_USE_FULLGRAPH"
  value: "False"
}
env {
  name: "ACCELERATE_DYNAMO_USE_DYNAMIC"
  value: "False"
}
env {
  name: "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION"
  value: "False"
}
env {
  name: "ACCELERATE_USE_CPU"
  value: "True"
}
workdir: "/home/ann"
required_paths: "/home/ann"
required_paths: "/bin/true"
nodes: 1
processes_per_node: 2
cpu: true
on_agent_loss: END
mixed_precision: "no"
log_dir: "/home/ann/logs"
)");
}

TEST(MakeLaunchSpec, LeavesTheNumberOfProcessesToTheNode) {
  const auto spec = LaunchSpec(Launch({"true"}));
  ASSERT_OK(spec);
  EXPECT_EQ(spec->processes_per_node_size(), 0);
}

TEST(Env, ALaterValueWins) {
  const auto spec =
      MakeSubmitSpec(Submit({"--env", "OMP_NUM_THREADS=8", "--env", "A=1", "--env", "A=2", "true"}),
                     Machine().Get());
  ASSERT_OK(spec);
  std::map<std::string, std::string> env;
  for (const v1::EnvVar& variable : spec->env()) {
    EXPECT_TRUE(env.emplace(variable.name(), variable.value()).second) << variable.name();
  }
  EXPECT_EQ(env["OMP_NUM_THREADS"], "8");
  EXPECT_EQ(env["A"], "2");
}

TEST(Env, ANameWithoutAValueTakesTheCallersValue) {
  const auto spec = LaunchSpec(Launch({"--env", "HOME", "true"}));
  ASSERT_OK(spec);
  const v1::EnvVar& last = *spec->env().rbegin();
  EXPECT_EQ(last.name(), "HOME");
  EXPECT_EQ(last.value(), "/home/ann");
  EXPECT_THAT(LaunchSpec(Launch({"--env", "NOPE", "true"})),
              StatusIs(kInvalid, HasSubstr("--env NOPE: it is not set here")));
}

TEST(Env, WhatAccelSetsCannotBeChosen) {
  for (const char* text : {"ACCEL_LOGIN", "ACCEL_RANK=1", "RANK=0", "MASTER_PORT=1", "WORLD_SIZE=1",
                           "CUDA_VISIBLE_DEVICES=0", "TORCHELASTIC_ERROR_FILE=/x"}) {
    const std::string name = std::string(text).substr(0, std::string(text).find('='));
    EXPECT_THAT(MakeSubmitSpec(Submit({"--env", text, "true"}), Machine().Get()),
                StatusIs(kInvalid, HasSubstr("--env " + name + " cannot be chosen: ")));
    EXPECT_THAT(LaunchSpec(Launch({"--env", text, "true"})),
                StatusIs(kInvalid, HasSubstr("--env " + name + " cannot be chosen: ")));
  }
  EXPECT_THAT(Text(MakeSubmitSpec(Submit({"true"}), Machine().Get())),
              ::testing::Not(HasSubstr("secret")));
}

TEST(Env, VariablesOfAccelThatUsersMaySetAreSent) {
  const auto spec = LaunchSpec(Launch({"--num_processes", "2", "--env", "ACCEL_SHARED_MEMORY=0",
                                       "--env", "ACCEL_NCCL_LIBRARY=/x", "true"}));
  EXPECT_THAT(Text(spec), HasSubstr("name: \"ACCEL_SHARED_MEMORY\"\n  value: \"0\""));
  EXPECT_THAT(Text(spec), HasSubstr("ACCEL_NCCL_LIBRARY"));
}

TEST(Env, HasABoundedNumberOfVariables) {
  std::vector<std::string> words;
  for (int i = 0; i < 4097; ++i) words.insert(words.end(), {"--env", absl::StrCat("V", i, "=")});
  words.push_back("true");
  EXPECT_THAT(LaunchSpec(Launch(words)), StatusIs(kInvalid, HasSubstr("4097 times; at most 4096")));
}

TEST(Name, IsCutForALongProgram) {
  const auto spec = LaunchSpec(Launch({"/bin/" + std::string(124, 'x') + "äöü"}));
  ASSERT_OK(spec);
  EXPECT_EQ(spec->name(), std::string(124, 'x') + "…");
}

TEST(Env, RefusesTextWithoutAName) {
  for (const char* text : {"=x", ""}) {
    EXPECT_THAT(LaunchSpec(Launch({"--env", text, "true"})),
                StatusIs(kInvalid, HasSubstr("it must be NAME=VALUE or NAME")));
  }
}

TEST(MakeSubmitSpec, PassesTheErrorsOfItsParts) {
  EXPECT_THAT(MakeSubmitSpec(Submit({"--cpu", "--gpu_ids", "1", "true"}), Machine().Get()),
              StatusIs(kInvalid, HasSubstr("cannot be used together")));
  EXPECT_THAT(MakeSubmitSpec(Submit({}), Machine().Get()),
              StatusIs(kInvalid, HasSubstr("PROGRAM is missing")));
}

}  // namespace
}  // namespace accel::cli
