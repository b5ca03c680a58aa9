#include "cli/program.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

bool HasSlash(absl::string_view text) { return absl::StrContains(text, '/'); }

std::optional<std::string> FindInPath(absl::string_view name, const CallerContext& context) {
  for (absl::string_view folder : absl::StrSplit(context.env("PATH").value_or(""), ':')) {
    const std::string candidate = AbsolutePath(
        folder.empty() ? std::string(name) : absl::StrCat(folder, "/", name), context.cwd);
    if (context.probe(candidate) == FileKind::kExecutable) return candidate;
  }
  return std::nullopt;
}

std::string ResolveExecutable(const std::string& word, const CallerContext& context) {
  if (HasSlash(word)) return AbsolutePath(word, context.cwd);
  if (const auto found = FindInPath(word, context)) return *found;
  const std::string here = AbsolutePath(word, context.cwd);
  const FileKind kind = context.probe(here);
  // A file that cannot be executed is returned too, because the error "not executable" says more
  // than "not found".
  return kind == FileKind::kExecutable || kind == FileKind::kFile ? here : word;
}

std::string ResolvePython(const std::string& asked, const CallerContext& context) {
  if (!asked.empty()) {
    if (HasSlash(asked)) return AbsolutePath(asked, context.cwd);
    return FindInPath(asked, context).value_or(asked);
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = context.env(variable).value_or("");
    if (!prefix.empty()) return absl::StrCat(AbsolutePath(prefix, context.cwd), "/bin/python");
  }
  for (const char* name : {"python3", "python"}) {
    if (const auto found = FindInPath(name, context)) return *found;
  }
  return "python3";
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void Require(const std::string& path, Program* program) {
  if (absl::StartsWith(path, "/")) program->required_paths.push_back(path);
}

// INVALID_ARGUMENT: there is no program, or flags contradict each other.
absl::Status CheckRequest(const ProgramRequest& request) {
  if (request.module && request.no_python) {
    return absl::InvalidArgumentError("`--module` and `--no_python` cannot be used together");
  }
  if (request.no_python && !request.python.empty()) {
    return absl::InvalidArgumentError("`--python` and `--no_python` cannot be used together");
  }
  if (request.words.empty() || request.words[0].empty()) {
    return absl::InvalidArgumentError(request.module
                                          ? "MODULE is missing: name it after the flags"
                                          : "PROGRAM is missing: name an executable or a .py file "
                                            "after the flags");
  }
  const bool is_script =
      !request.no_python && !request.words[0].empty() && absl::EndsWith(request.words[0], ".py");
  if (!request.python.empty() && !request.module && !is_script) {
    return absl::InvalidArgumentError(absl::StrCat("--python has no effect: ", request.words[0],
                                                   " is not a .py file and `--module` is not "
                                                   "given"));
  }
  return absl::OkStatus();
}

// Returns a path of this machine in the upload, relative to its root, or nullopt if the upload does
// not have it. A path is relative to the root or, if there is no such file, to this folder.
std::optional<std::string> FindInUpload(const std::string& word, const UploadedFiles& upload,
                                        const CallerContext& context) {
  const std::string plain = std::filesystem::path(word).lexically_normal();
  if (upload.has(plain)) return plain;
  const std::string absolute =
      std::filesystem::path(AbsolutePath(word, context.cwd)).lexically_normal();
  absl::string_view below = absolute;
  if (!absl::ConsumePrefix(&below, upload.root) || !absl::ConsumePrefix(&below, "/")) {
    return std::nullopt;
  }
  return upload.has(std::string(below)) ? std::optional<std::string>(below) : std::nullopt;
}

// Returns a script of the upload, or an absolute path outside, which the nodes must have.
absl::StatusOr<std::string> UploadedScript(const std::string& word, const UploadedFiles& upload,
                                           const CallerContext& context) {
  if (auto path = FindInUpload(word, upload, context)) return *std::move(path);
  if (absl::StartsWith(word, "/") && !absl::StartsWith(word, upload.root + "/")) return word;
  return absl::InvalidArgumentError(
      absl::StrCat(word, " is not in the upload of ", upload.root,
                   ": it does not exist, or .accelignore leaves it out"));
}

}  // namespace

std::string AbsolutePath(absl::string_view path, absl::string_view cwd) {
  if (absl::StartsWith(path, "/")) return std::string(path);
  while (absl::ConsumePrefix(&path, "./")) {
  }
  if (path.empty() || path == ".") return std::string(cwd);
  return absl::StrCat(cwd, absl::EndsWith(cwd, "/") ? "" : "/", path);
}

absl::StatusOr<Program> ResolveProgram(const ProgramRequest& request,
                                       const CallerContext& context) {
  ACCEL_RETURN_IF_ERROR(CheckRequest(request));
  const std::string& first = request.words[0];
  Program program;
  program.name = LastPart(first);
  if (request.module) {
    program.argv = {ResolvePython(request.python, context), "-u", "-m", first};
    Require(program.argv[0], &program);
  } else if (!request.no_python && absl::EndsWith(first, ".py")) {
    const std::string script = AbsolutePath(first, context.cwd);
    program.argv = {ResolvePython(request.python, context), "-u", script};
    Require(program.argv[0], &program);
    Require(script, &program);
  } else {
    program.argv = {ResolveExecutable(first, context)};
    Require(program.argv[0], &program);
  }
  program.argv.insert(program.argv.end(), request.words.begin() + 1, request.words.end());
  return program;
}

absl::StatusOr<Program> ResolveUploadedProgram(const ProgramRequest& request,
                                               const UploadedFiles& upload,
                                               const CallerContext& context) {
  ACCEL_RETURN_IF_ERROR(CheckRequest(request));
  const std::string& first = request.words[0];
  const std::string asked = request.python.empty() ? "python3" : request.python;
  // A name without a slash is one for the PATH, also if the upload has such a file.
  const auto executable = [&](const std::string& word) -> std::string {
    const auto path = HasSlash(word) ? FindInUpload(word, upload, context) : std::nullopt;
    return path ? absl::StrCat("./", *path) : word;
  };
  Program program;
  program.name = LastPart(first);
  if (request.module) {
    program.argv = {executable(asked), "-u", "-m", first};
  } else if (!request.no_python && absl::EndsWith(first, ".py")) {
    ACCEL_ASSIGN_OR_RETURN(const std::string script, UploadedScript(first, upload, context));
    program.argv = {executable(asked), "-u", script};
    Require(script, &program);
  } else {
    const auto path = FindInUpload(first, upload, context);
    program.argv = {path ? absl::StrCat("./", *path) : first};
  }
  Require(program.argv[0], &program);
  program.argv.insert(program.argv.end(), request.words.begin() + 1, request.words.end());
  return program;
}

}  // namespace accel::cli
