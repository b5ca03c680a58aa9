#include "cli/self_test/test_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/config/setting_flags.h"
#include "cli/flags.h"
#include "cli/json_object.h"
#include "cli/launch.h"
#include "cli/launch_flags.h"
#include "cli/program.h"
#include "cli/report/python_packages.h"
#include "cli/self_test/python_program.h"
#include "common/find_binary.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// A program that is started in every process of the set-up.
struct Part {
  std::string name;
  std::vector<std::string> words;
};

FlagSet MakeTestFlagSet(LaunchFlags* to, bool* json) {
  FlagSet flags(
      "accel test", "[flags]",
      "Checks that the set-up can train: starts a small training in every process and "
      "compares it with that of one process. First a C++ program, then one of PyTorch's "
      "Python package if that is installed. Takes the settings of `accel launch`, but runs on "
      "this machine if a file names a coordinator.");
  flags.Text("config_file", "FILE",
             "read the settings from this file (default: that of `accel launch`)",
             &to->config_file);
  AddLaunchSettingFlags(&flags, &to->settings);
  flags.Text("python", "PATH", "the Python to test (default: the active environment's)",
             &to->job.program.python);
  flags.Text("shim", "PATH", "path of accel-shim (default: ACCEL_SHIM, then the folder of accel)",
             &to->shim);
  flags.Switch("json", "print JSON on the last line (docs/json.md)", json);
  AddOtherSettingFlags(&flags, &to->settings);
  flags.Footer(
      "ACCEL_SELF_TEST names the C++ program, if it is not in the folder of accel.\n\n"
      "Exit codes: 0 everything works, 2 wrong usage or a wrong file, otherwise as `accel launch`. "
      "The last lines name the rank, the node and the check that failed.");
  return flags;
}

// Returns the programs that can be started on this machine. NOT_FOUND: there is none.
absl::StatusOr<std::vector<Part>> FindParts(const std::string& python, const Console& console) {
  std::vector<Part> parts;
  const auto binary =
      common::FindBinary({"accel-self-test", "", "ACCEL_SELF_TEST", "runtime/self_test"}, "");
  if (binary.ok()) parts.push_back({"C++", {*binary}});
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  const auto program = ResolveProgram({.words = {"self_test.py"}, .python = python}, context);
  const bool has_torch = program.ok() && PackageVersions(program->argv[0]).contains("torch");
  if (has_torch) parts.push_back({"Python", {program->argv[0], "-u", "-c", kPythonSelfTest}});
  if (parts.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "there is nothing to start: ", binary.status().message(), "; and ",
        program.ok() ? absl::StrCat(program->argv[0], " has no package torch") : "no Python",
        " (activate an environment that has it, or name its interpreter with --python)"));
  }
  if (!binary.ok()) PrintMessage(console, "accel-self-test is not here: C++ is not tested");
  if (!has_torch) PrintMessage(console, "there is no PyTorch for Python here: it is not tested");
  return parts;
}

// Prints what was tested. `failed` is empty if everything works.
void PrintJson(const std::vector<std::string>& passed, const std::string& failed,
               const Console& console) {
  console.out << JsonObject::Versioned()
                     .Texts("passed", passed)
                     .Json("failed", failed.empty() ? "null" : JsonString(failed))
                     .Print()
              << "\n";
}

absl::StatusOr<int> Test(const LaunchFlags& flags, bool json, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                         FindParts(flags.job.program.python, console));
  std::vector<std::string> passed;
  for (const Part& part : parts) {
    LaunchFlags launch = flags;
    launch.is_test = true;
    launch.job.program = {.words = part.words, .no_python = true};
    const int code = LaunchJob(launch, console);
    if (code != kExitOk) {
      PrintMessage(console, absl::StrCat("the test of ", part.name, " failed"));
      if (json) PrintJson(passed, part.name, console);
      return code;
    }
    passed.push_back(part.name);
  }
  if (json) {
    PrintJson(passed, "", console);
  } else {
    console.out << "Test is a success! You are ready for your distributed training!\n";
  }
  return kExitOk;
}

}  // namespace

int RunTest(const std::vector<std::string>& args, const Console& console) {
  LaunchFlags flags;
  bool json = false;
  FlagSet flag_set = MakeTestFlagSet(&flags, &json);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  const absl::StatusOr<int> code = Test(flags, json, console);
  return code.ok() ? *code : Fail(console, code.status());
}

}  // namespace accel::cli
