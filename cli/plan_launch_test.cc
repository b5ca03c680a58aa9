#include "cli/plan_launch.h"

#include "absl/strings/escaping.h"
#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Plans a launch in /home/ann, which has the file ds.json.
absl::StatusOr<LaunchPlan> Plan(std::vector<std::string> args) {
  FakeCallerContext machine;
  machine.env["HF_HOME"] = "/none";
  machine.files["/home/ann/ds.json"] = FileKind::kFile;
  LaunchFlags flags;
  args.push_back("train.py");
  const absl::Status parsed = MakeLaunchFlagSet(&flags).Parse(args);
  return parsed.ok() ? PlanFor(flags, machine.Get()) : parsed;
}

TEST(PlanFor, DeepSpeedsFileExistsWhereTheJobStarts) {
  const auto plan = [](const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--use_deepspeed", "--num_processes", "1"});
    more.insert(more.end(), {"--deepspeed_config_file", file});
    return Plan(more).status();
  };
  EXPECT_OK(plan("ds.json"));
  EXPECT_OK(plan("none"));  // Accelerate's word for no file.
  EXPECT_OK(plan(absl::WebSafeBase64Escape("{\"zero_optimization\": {}}")));
  EXPECT_OK(plan("missing.json", {"--coordinator", "h:1"}));
  EXPECT_THAT(plan("missing.json"),
              StatusIs(kInvalid,
                       "--deepspeed_config_file is missing.json: there is no such file; "
                       "the path is relative to the working directory /home/ann"));
}

TEST(PlanFor, ACoordinatorsAddressIsChecked) {
  EXPECT_OK(Plan({"--cpu", "--coordinator", "unix:/run/c"}));
  EXPECT_THAT(Plan({"--cpu", "--coordinator", "h"}),
              StatusIs(kInvalid, HasSubstr("--coordinator is h: \"h\" has no port")));
}

}  // namespace
}  // namespace accel::cli
