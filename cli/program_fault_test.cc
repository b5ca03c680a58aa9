#include "cli/program_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_caller_context.h"

namespace accel::cli {
namespace {

v1::JobSpec Spec(const std::vector<std::string>& argv, const std::vector<std::string>& required) {
  v1::JobSpec spec;
  for (const std::string& word : argv) spec.add_argv(word);
  for (const std::string& path : required) spec.add_required_paths(path);
  return spec;
}

TEST(ProgramFault, IsThatOfTheLaunch) {
  FakeCallerContext machine;
  machine.env["PATH"] = "/bin";
  EXPECT_FALSE(FindProgramFault(Spec({"/bin/sh"}, {"/bin/sh"}), machine.Get()).has_value());
  EXPECT_FALSE(FindProgramFault(Spec({"sh", "x"}, {}), machine.Get()).has_value());
  const auto script =
      FindProgramFault(Spec({"/bin/sh", "/none.py"}, {"/bin/sh", "/none.py"}), machine.Get());
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->exit_code, 127);
  EXPECT_EQ(script->sentence, "rank 0 could not be started: /none.py does not exist on this node");
  const auto folder = FindProgramFault(Spec({"/bin/"}, {"/bin/"}), machine.Get());
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->exit_code, 126);
}

TEST(ProgramFault, ThePathOfTheJobIsSearched) {
  FakeCallerContext machine;
  machine.env["PATH"] = "/bin";
  v1::JobSpec spec = Spec({"sh"}, {});
  v1::EnvVar* const path = spec.add_env();
  path->set_name("PATH");
  path->set_value("/none");
  const auto fault = FindProgramFault(spec, machine.Get());
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->sentence,
            "rank 0 could not be started: sh was not found on this node in the job's PATH (/none)");
}

}  // namespace
}  // namespace accel::cli
