#include "coordinator/core/job_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;

v1::JobSpec Good() {
  v1::JobSpec spec;
  spec.set_name("mnist");
  spec.add_argv("train.py");
  spec.set_workdir("/data");
  spec.set_nodes(2);
  spec.add_processes_per_node(3);
  spec.add_processes_per_node(4);
  spec.set_mixed_precision("bf16");
  spec.set_on_agent_loss(v1::END);
  v1::EnvVar* variable = spec.add_env();
  variable->set_name("A");
  variable->set_value("=b");
  return spec;
}

TEST(JobSpec, AcceptsValidSpecs) {
  EXPECT_OK(ValidateJobSpec(Good()));
  v1::JobSpec least;
  least.add_argv("x");
  least.set_nodes(1);
  EXPECT_OK(ValidateJobSpec(least));
}

absl::Status WithEnv(v1::JobSpec spec, const std::string& name) {
  spec.add_env()->set_name(name);
  return ValidateJobSpec(spec);
}

TEST(JobSpec, ARefusalQuotesTheSpecSafely) {
  v1::JobSpec spec = Good();
  spec.set_workdir("\x1b[2J" + std::string(4000, 'x'));
  const absl::Status path = ValidateJobSpec(spec);
  EXPECT_THAT(path, StatusIs(absl::StatusCode::kInvalidArgument,
                             StartsWith("workdir: must be absolute: \\x1b[2Jxxx")));
  EXPECT_LT(path.message().size(), 200u);
  EXPECT_THAT(WithEnv(Good(), "ACCEL_\x07"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("env: ACCEL_\\x07 cannot")));
}

TEST(JobSpec, RefusesVariablesThatAccelSets) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_ERROR_FILE", "CUDA_VISIBLE_DEVICES", "ACCEL_JOB_ID",
                           "ACCEL_TERMINAL", "ACCEL_OF_A_LATER_VERSION"}) {
    EXPECT_THAT(WithEnv(Good(), name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith(absl::StrCat("env: ", name, " cannot be chosen: "))));
  }
  for (const char* name : {"ACCEL_SHARED_MEMORY", "ACCEL_NCCL_LIBRARY", "OMP_NUM_THREADS",
                           "ACCELERATE_USE_CPU", "NCCL_SOCKET_IFNAME"}) {
    EXPECT_OK(WithEnv(Good(), name));
  }
}

TEST(JobSpec, BoundsTheNumberOfVariables) {
  v1::JobSpec many = Good();
  while (many.env_size() < 4096) many.add_env()->set_name(absl::StrCat("V", many.env_size()));
  EXPECT_OK(ValidateJobSpec(many));
  EXPECT_THAT(WithEnv(many, "ONE_MORE"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  "env: has 4097 variables; at most 4096"));
}

TEST(JobSpec, ASingleProcessMayDefineItsOwnWorld) {
  v1::JobSpec alone = Good();
  alone.set_nodes(1);
  alone.clear_processes_per_node();
  // A job with one process for each GPU may have several processes.
  EXPECT_THAT(WithEnv(alone, "RANK"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("RANK")));
  alone.set_cpu(true);
  EXPECT_OK(WithEnv(alone, "RANK"));
  EXPECT_OK(WithEnv(alone, "CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(WithEnv(alone, "ACCEL_NODE"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ACCEL_NODE")));
  alone.set_cpu(false);
  alone.add_processes_per_node(1);
  EXPECT_OK(WithEnv(alone, "RANK"));
  EXPECT_THAT(WithEnv(alone, "CUDA_VISIBLE_DEVICES"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--gpu_ids")));
}

TEST(JobSpec, AGraceIsADayAtMostAndTheErrorSaysSo) {
  v1::JobSpec spec = Good();
  spec.set_stop_grace_ms(86'400'000);
  spec.set_failure_grace_ms(86'400'000);
  EXPECT_OK(ValidateJobSpec(spec));
  spec.set_failure_grace_ms(86'400'001);
  EXPECT_THAT(ValidateJobSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("a day")));
}

struct Case {
  std::string field;
  std::function<void(v1::JobSpec*)> spoil;
};

TEST(JobSpec, RefusesInvalidSpecsAndNamesTheField) {
  const std::string nul("a\0b", 3);
  const std::vector<Case> cases = {
      {"name", [](v1::JobSpec* s) { s->set_name(std::string(129, 'x')); }},
      {"argv", [](v1::JobSpec* s) { s->clear_argv(); }},
      {"argv", [](v1::JobSpec* s) { s->set_argv(0, ""); }},
      {"argv", [&](v1::JobSpec* s) { s->add_argv(nul); }},
      {"argv", [](v1::JobSpec* s) { s->add_argv(std::string(1 << 20, 'x')); }},
      {"argv",
       [](v1::JobSpec* s) {
         for (int i = 0; i < 16'384; ++i) s->add_argv("x");
       }},
      {"env", [](v1::JobSpec* s) { s->add_env(); }},
      {"env", [](v1::JobSpec* s) { s->add_env()->set_name("A=B"); }},
      {"env", [&](v1::JobSpec* s) { s->mutable_env(0)->set_value(nul); }},
      {"env", [](v1::JobSpec* s) { s->mutable_env(0)->set_value(std::string(1 << 20, 'x')); }},
      {"workdir", [](v1::JobSpec* s) { s->set_workdir("relative"); }},
      {"workdir", [](v1::JobSpec* s) { s->set_workdir("/" + std::string(4096, 'x')); }},
      {"log_dir", [](v1::JobSpec* s) { s->set_log_dir("logs"); }},
      {"required_paths", [](v1::JobSpec* s) { s->add_required_paths("x"); }},
      {"required_paths",
       [](v1::JobSpec* s) {
         for (int i = 0; i < 65; ++i) s->add_required_paths("/x");
       }},
      {"nodes", [](v1::JobSpec* s) { s->set_nodes(0); }},
      {"nodes", [](v1::JobSpec* s) { s->set_nodes(10'001); }},
      {"processes_per_node", [](v1::JobSpec* s) { s->add_processes_per_node(1); }},
      {"processes_per_node", [](v1::JobSpec* s) { s->set_processes_per_node(0, 0); }},
      {"processes_per_node", [](v1::JobSpec* s) { s->set_processes_per_node(0, 1025); }},
      {"gpu_ids", [](v1::JobSpec* s) { s->add_gpu_ids(-1); }},
      {"gpu_ids",
       [](v1::JobSpec* s) {
         s->add_gpu_ids(2);
         s->add_gpu_ids(2);
       }},
      {"gpu_ids",
       [](v1::JobSpec* s) {
         s->set_cpu(true);
         s->add_gpu_ids(0);
       }},
      {"max_restarts", [](v1::JobSpec* s) { s->set_max_restarts(-1); }},
      {"time_limit_ms", [](v1::JobSpec* s) { s->set_time_limit_ms(-1); }},
      {"start_deadline_ms", [](v1::JobSpec* s) { s->set_start_deadline_ms(-1); }},
      {"hang_timeout_ms", [](v1::JobSpec* s) { s->set_hang_timeout_ms(999); }},
      {"stop_grace_ms", [](v1::JobSpec* s) { s->set_stop_grace_ms(86'400'001); }},
      {"failure_grace_ms", [](v1::JobSpec* s) { s->set_failure_grace_ms(86'400'001); }},
      {"failure_grace_ms", [](v1::JobSpec* s) { s->set_failure_grace_ms(-1); }},
      {"on_agent_loss",
       [](v1::JobSpec* s) { s->set_on_agent_loss(static_cast<v1::OnAgentLoss>(3)); }},
      {"mixed_precision", [](v1::JobSpec* s) { s->set_mixed_precision("fp64"); }},
      {"role", [](v1::JobSpec* s) { s->set_role(std::string(129, 'r')); }},
      {"terminal_columns", [](v1::JobSpec* s) { s->set_terminal_columns(-1); }},
  };
  for (const Case& spoiled : cases) {
    v1::JobSpec spec = Good();
    spoiled.spoil(&spec);
    EXPECT_THAT(ValidateJobSpec(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(spoiled.field + ": ")));
  }
}

TEST(JobSpec, AFenceNeedsTimeAndAJobThatOutlivesItsAgent) {
  v1::JobSpec spec = Good();
  spec.set_on_agent_loss(v1::KEEP);
  spec.set_stop_on_disconnect_after_ms(5000);
  EXPECT_OK(ValidateJobSpec(spec));
  spec.set_stop_on_disconnect_after_ms(4999);
  EXPECT_THAT(ValidateJobSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                              StartsWith("stop_on_disconnect_after_ms: ")));
  spec.set_stop_on_disconnect_after_ms(5000);
  spec.set_on_agent_loss(v1::END);
  EXPECT_THAT(ValidateJobSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                              StartsWith("stop_on_disconnect_after_ms: ")));
}

TEST(JobSpec, ALongValueIsCutInTheError) {
  v1::JobSpec spec = Good();
  spec.mutable_env(0)->set_name(std::string(1 << 19, '='));
  EXPECT_LT(ValidateJobSpec(spec).message().size(), 200u);
  spec = Good();
  spec.set_mixed_precision(std::string(1 << 19, 'x'));
  EXPECT_LT(ValidateJobSpec(spec).message().size(), 200u);
}

}  // namespace
}  // namespace accel::coordinator
