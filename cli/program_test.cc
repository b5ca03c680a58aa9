#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

FakeCallerContext Debian() {
  FakeCallerContext fake;
  fake.env = {{"PATH", "/usr/local/bin:/usr/bin"}};
  fake.files = {
      {"/usr/bin/python3", FileKind::kExecutable}, {"/usr/bin/true", FileKind::kExecutable},
      {"/home/ann/train", FileKind::kExecutable},  {"/home/ann/train.py", FileKind::kFile},
      {"/home/ann/notes", FileKind::kFile},        {"/home/ann/folder", FileKind::kDirectory}};
  return fake;
}

std::vector<std::string> ArgvOf(const ProgramRequest& request, const FakeCallerContext& fake) {
  const auto program = ResolveProgram(request, fake.Get());
  EXPECT_OK(program);
  return program.ok() ? program->argv : std::vector<std::string>();
}

TEST(ResolveProgram, AScriptGetsThePythonOfPathUnbuffered) {
  const auto program = ResolveProgram({{"train.py", "--lr", "3", "-m"}}, Debian().Get());
  ASSERT_OK(program);
  EXPECT_THAT(program->argv,
              ElementsAre("/usr/bin/python3", "-u", "/home/ann/train.py", "--lr", "3", "-m"));
  EXPECT_THAT(program->required_paths, ElementsAre("/usr/bin/python3", "/home/ann/train.py"));
  EXPECT_EQ(program->name, "train.py");
}

TEST(ResolveProgram, TheActiveEnvironmentWinsOverPath) {
  FakeCallerContext fake = Debian();
  fake.env["CONDA_PREFIX"] = "/opt/conda";
  EXPECT_EQ(ArgvOf({{"train.py"}}, fake)[0], "/opt/conda/bin/python");
  fake.env["VIRTUAL_ENV"] = "/home/ann/venv";
  EXPECT_EQ(ArgvOf({{"train.py"}}, fake)[0], "/home/ann/venv/bin/python");
  fake.env["VIRTUAL_ENV"] = "venv";
  EXPECT_EQ(ArgvOf({{"train.py"}}, fake)[0], "/home/ann/venv/bin/python");
  fake.env["VIRTUAL_ENV"] = "";
  EXPECT_EQ(ArgvOf({{"train.py"}}, fake)[0], "/opt/conda/bin/python");
}

TEST(ResolveProgram, PythonMayBeNamed) {
  FakeCallerContext fake = Debian();
  fake.env["VIRTUAL_ENV"] = "/venv";
  fake.files["/usr/bin/python3.11"] = FileKind::kExecutable;
  const std::pair<const char*, const char*> kCases[] = {
      {"/opt/python", "/opt/python"},
      {"./py/python", "/home/ann/py/python"},
      {"python3.11", "/usr/bin/python3.11"},
      {"python9", "python9"},  // The nodes may have it.
  };
  for (const auto& [asked, expected] : kCases) {
    EXPECT_EQ(ArgvOf({{"train.py"}, false, false, asked}, fake)[0], expected) << asked;
  }
}

TEST(ResolveProgram, WithoutAnyPythonHereTheNodeLooks) {
  FakeCallerContext fake;
  const auto program = ResolveProgram({{"train.py"}}, fake.Get());
  ASSERT_OK(program);
  EXPECT_EQ(program->argv[0], "python3");
  EXPECT_THAT(program->required_paths, ElementsAre("/home/ann/train.py"));
  fake.env["PATH"] = "/bin";
  fake.files["/bin/python"] = FileKind::kExecutable;
  EXPECT_EQ(ArgvOf({{"train.py"}}, fake)[0], "/bin/python");
}

TEST(ResolveProgram, AModuleIsForPython) {
  const auto program = ResolveProgram({{"pkg.train", "-m", "x"}, true}, Debian().Get());
  ASSERT_OK(program);
  EXPECT_THAT(program->argv, ElementsAre("/usr/bin/python3", "-u", "-m", "pkg.train", "-m", "x"));
  EXPECT_THAT(program->required_paths, ElementsAre("/usr/bin/python3"));
  EXPECT_EQ(program->name, "pkg.train");
}

TEST(ResolveProgram, AnExecutableIsLookedUpInPathThenHere) {
  const std::pair<const char*, const char*> kCases[] = {
      {"true", "/usr/bin/true"},
      {"train", "/home/ann/train"},
      {"./train", "/home/ann/train"},
      {"././train", "/home/ann/train"},
      {"bin/train", "/home/ann/bin/train"},
      {"../train", "/home/ann/../train"},
      {"/opt/train", "/opt/train"},
      {"notes", "/home/ann/notes"},  // Exists, so that the error is about its mode.
      {"folder", "folder"},
      {"absent", "absent"},
  };
  for (const auto& [word, expected] : kCases) {
    EXPECT_EQ(ArgvOf({{word}}, Debian())[0], expected) << word;
  }
}

TEST(ResolveProgram, AFileInPathWinsOverOneHere) {
  FakeCallerContext fake = Debian();
  fake.files["/usr/local/bin/train"] = FileKind::kExecutable;
  EXPECT_EQ(ArgvOf({{"train"}}, fake)[0], "/usr/local/bin/train");
  fake.files["/usr/local/bin/train"] = FileKind::kDirectory;
  EXPECT_EQ(ArgvOf({{"train"}}, fake)[0], "/home/ann/train");
}

TEST(ResolveProgram, RelativePartsOfPathAreTakenFromHere) {
  FakeCallerContext fake;
  fake.files["/home/ann/tools/t"] = FileKind::kExecutable;
  fake.files["/home/ann/u"] = FileKind::kExecutable;
  fake.env["PATH"] = "/bin:tools";
  EXPECT_EQ(ArgvOf({{"t"}}, fake)[0], "/home/ann/tools/t");
  fake.env["PATH"] = "/bin:";
  EXPECT_EQ(ArgvOf({{"u"}}, fake)[0], "/home/ann/u");
}

TEST(ResolveProgram, NoPythonForcesAnExecutable) {
  const auto program = ResolveProgram({{"./train.py", "x"}, false, true}, Debian().Get());
  ASSERT_OK(program);
  EXPECT_THAT(program->argv, ElementsAre("/home/ann/train.py", "x"));
  EXPECT_THAT(program->required_paths, ElementsAre("/home/ann/train.py"));
}

TEST(ResolveProgram, RefusesContradictions) {
  const auto context = FakeCallerContext().Get();
  EXPECT_THAT(ResolveProgram({{"x"}, true, true}, context),
              StatusIs(kInvalid, "`--module` and `--no_python` cannot be used together"));
  EXPECT_THAT(ResolveProgram({{"x"}, false, true, "python3"}, context),
              StatusIs(kInvalid, "`--python` and `--no_python` cannot be used together"));
  EXPECT_THAT(ResolveProgram({{"./train"}, false, false, "python3"}, context),
              StatusIs(kInvalid, HasSubstr("./train is not a .py file")));
  EXPECT_THAT(ResolveProgram({}, context),
              StatusIs(kInvalid, HasSubstr("PROGRAM is missing: name")));
  EXPECT_THAT(ResolveProgram({{""}}, context),
              StatusIs(kInvalid, HasSubstr("PROGRAM is missing: name")));
  EXPECT_THAT(ResolveProgram({{}, true}, context),
              StatusIs(kInvalid, HasSubstr("MODULE is missing: name")));
}

TEST(ResolveUploadedProgram, FindsTheProgramInTheUpload) {
  FakeCallerContext fake;
  fake.env["VIRTUAL_ENV"] = "/home/ann/env";  // The nodes do not have it.
  const UploadedFiles upload = {"/home/ann/p", [](const std::string& path) {
                                  return path == "train.py" || path == "bin/run" || path == "cat";
                                }};
  const auto argv = [&](const ProgramRequest& request) {
    const auto program = ResolveUploadedProgram(request, upload, fake.Get());
    EXPECT_OK(program);
    return program->argv;
  };
  const std::vector<std::string> train = {"python3", "-u", "train.py", "x"};
  for (const char* word :
       {"train.py", "./train.py", "p/train.py", "/home/ann/p/train.py", "../ann/p/train.py"}) {
    EXPECT_EQ(argv({{word, "x"}}), train) << word;
  }
  EXPECT_EQ(argv({{"bin/run"}}), std::vector<std::string>({"./bin/run"}));
  EXPECT_EQ(argv({{"cat"}}), std::vector<std::string>({"./cat"}));
  EXPECT_EQ(argv({{"ls"}}), std::vector<std::string>({"ls"}));
  EXPECT_EQ(argv({{"m"}, true}), std::vector<std::string>({"python3", "-u", "-m", "m"}));
  EXPECT_EQ(argv({{"train.py"}, false, false, "/opt/python"})[0], "/opt/python");
  const auto outside = ResolveUploadedProgram({{"/data/eval.py"}}, upload, fake.Get());
  ASSERT_OK(outside);
  EXPECT_EQ(outside->required_paths, std::vector<std::string>({"/data/eval.py"}));
  for (const char* word : {"eval.py", "/home/ann/p/eval.py"}) {
    EXPECT_THAT(ResolveUploadedProgram({{word}}, upload, fake.Get()),
                StatusIs(kInvalid, HasSubstr("is not in the upload of /home/ann/p")));
  }
}

TEST(AbsolutePath, JoinsPathsAsText) {
  EXPECT_EQ(AbsolutePath("a", "/"), "/a");
  EXPECT_EQ(AbsolutePath(".", "/w"), "/w");
  EXPECT_EQ(AbsolutePath("./", "/w"), "/w");
  EXPECT_EQ(AbsolutePath(".hidden", "/w"), "/w/.hidden");
  EXPECT_EQ(AbsolutePath("/b", "/w"), "/b");
}

TEST(RealCallerContext, DescribesThisProcess) {
  const auto context = RealCallerContext();
  ASSERT_OK(context);
  EXPECT_EQ(context->cwd[0], '/');
  EXPECT_EQ(context->probe("/bin/sh"), FileKind::kExecutable);
  EXPECT_EQ(context->probe("/"), FileKind::kDirectory);
  EXPECT_EQ(context->probe("/proc/version"), FileKind::kFile);
  EXPECT_EQ(context->probe("/no/such/file"), FileKind::kMissing);
  EXPECT_FALSE(context->env("ACCEL_NO_SUCH_VARIABLE").has_value());
}

}  // namespace
}  // namespace accel::cli
