#include "cli/machines/core/terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/worker_env.h"

namespace accel::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::map<std::string, std::string> Terms(const std::vector<std::string>& words,
                                         const LaunchPlan& plan, bool counts_itself = false) {
  std::map<std::string, std::string> terms;
  for (const v1::RunTerm& term : TermsOf(words, plan, counts_itself)) {
    terms[term.name()] = term.value();
  }
  return terms;
}

TEST(Terms, HaveWhatMustBeTheSame) {
  LaunchPlan plan;
  plan.processes = {2, 1};
  plan.cpu = true;
  plan.max_restarts = 3;
  plan.env = {{"ACCELERATE_MIXED_PRECISION", "bf16"}, {common::kEnvOmpNumThreads, "7"}};
  EXPECT_THAT(Terms({"train.py", "--lr", "1"}, plan),
              UnorderedElementsAre(Pair("the command", "train.py --lr 1"),
                                   Pair("the number of processes", "2,1"), Pair("cpu", "true"),
                                   Pair("gpu_ids", ""), Pair("max_restarts", "3"), Pair("role", ""),
                                   Pair("ACCELERATE_MIXED_PRECISION", "bf16")));
}

TEST(Terms, DifferForDifferentWords) {
  const LaunchPlan plan;
  EXPECT_NE(Terms({"a", "b c"}, plan), Terms({"a", "b", "c"}, plan));
  EXPECT_NE(Terms({"a", ""}, plan), Terms({"a"}, plan));
  EXPECT_NE(Terms({"a", "\"b", "c\""}, plan), Terms({"a", "b c"}, plan));
}

TEST(Terms, EachMachineMayCountItsOwnProcesses) {
  LaunchPlan one;
  one.processes = {1, 1};
  LaunchPlan two;
  two.processes = {2, 2};
  EXPECT_NE(Terms({"a"}, one), Terms({"a"}, two));
  EXPECT_EQ(Terms({"a"}, one, true), Terms({"a"}, two, true));
}

v1::EnvVar Variable(const std::string& name, const std::string& value) {
  v1::EnvVar variable;
  variable.set_name(name);
  variable.set_value(value);
  return variable;
}

TEST(SharedSpec, HasNoVariableOfOneMachine) {
  v1::JobSpec own;
  *own.add_env() = Variable("A", "1");
  *own.add_env() = Variable(common::kEnvGlooInterface, "eth7");
  own.add_processes_per_node(9);
  own.set_on_agent_loss(v1::KEEP);
  const v1::JobSpec shared = SharedSpec(own, 2, {3, 1});
  EXPECT_EQ(shared.nodes(), 2);
  EXPECT_THAT(shared.processes_per_node(), ElementsAre(3, 1));
  EXPECT_EQ(shared.on_agent_loss(), v1::END);
  EXPECT_EQ(shared.env_size(), 0);
  EXPECT_THAT(SharedSpec(own, 2, {}).processes_per_node(), IsEmpty());
}

TEST(UseOwnCommand, KeepsTheWorldOfThePlan) {
  v1::JobSpec own;
  own.add_argv("/home/b/train");
  own.set_workdir("/home/b");
  own.add_required_paths("/home/b");
  own.set_log_dir("/home/b/logs");
  *own.add_env() = Variable("OMP_NUM_THREADS", "4");
  *own.add_env() = Variable(common::kEnvGlooInterface, "eth7");
  v1::NodeDesired desired;
  v1::DesiredGeneration* start = desired.add_generations();
  start->add_argv("/home/a/train");
  start->set_workdir("/home/a");
  *start->add_env() = Variable("WORLD_SIZE", "4");
  *start->add_env() = Variable("OMP_NUM_THREADS", "2");
  v1::DesiredGeneration* stop = desired.add_generations();
  stop->set_stop(true);
  UseOwnCommand(own, &desired);
  EXPECT_THAT(start->argv(), ElementsAre("/home/b/train"));
  EXPECT_EQ(start->workdir(), "/home/b");
  EXPECT_THAT(start->required_paths(), ElementsAre("/home/b"));
  EXPECT_EQ(start->log_dir(), "/home/b/logs");
  std::map<std::string, std::string> env;
  for (const v1::EnvVar& variable : start->env()) env[variable.name()] = variable.value();
  EXPECT_THAT(env, UnorderedElementsAre(Pair("WORLD_SIZE", "4"), Pair("OMP_NUM_THREADS", "4"),
                                        Pair(common::kEnvGlooInterface, "eth7")));
  EXPECT_THAT(stop->argv(), IsEmpty());
}

}  // namespace
}  // namespace accel::cli
