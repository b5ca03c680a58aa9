#include "process/program_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/printable.h"

namespace accel::process {
namespace {

constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

std::string Absolute(const std::string& path, const std::string& workdir) {
  if (workdir.empty() || absl::StartsWith(path, "/")) return path;
  return absl::StrCat(workdir, "/", path);
}

// The facts about a path that FindProgram() needs.
struct FileFacts {
  bool exists = false;
  bool folder = false;
  bool executable = false;
};

FileFacts ReadFileFacts(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  const bool folder = S_ISDIR(info.st_mode);
  return {true, folder, !folder && access(path.c_str(), X_OK) == 0};
}

// Maximum length of a name or a PATH in a message, so that the text after it remains visible.
constexpr size_t kMaxQuoted = 512;

std::string Quoted(absl::string_view text) {
  return common::Shortened(common::Printable(text), kMaxQuoted);
}

ProgramPath NotExecutable(const std::string& full_path, bool folder) {
  const std::string path = Quoted(full_path);
  return {"", kNotExecutableCode,
          folder ? absl::StrCat(path, " is a folder, not a program.")
                 : absl::StrCat(path, " is not executable on this node: chmod +x may be missing.")};
}

}  // namespace

const char* FindEnv(const std::vector<std::string>& env, absl::string_view name) {
  const char* found = nullptr;
  for (const std::string& entry : env) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && absl::StartsWith(entry, name)) {
      found = entry.c_str() + name.size() + 1;
    }
  }
  return found;
}

ProgramPath FindProgram(const std::string& program, const std::string& workdir,
                        const std::vector<std::string>& env) {
  if (program.find('/') != std::string::npos) {
    const FileFacts facts = ReadFileFacts(Absolute(program, workdir));
    if (facts.executable) return {program, 0, ""};
    if (facts.exists) return NotExecutable(program, facts.folder);
    return {"", kNotFoundCode, absl::StrCat(Quoted(program), " does not exist on this node.")};
  }
  const char* path = FindEnv(env, "PATH");
  if (path == nullptr) path = kDefaultPath;
  std::string unusable;  // The first file with this name in the PATH that may not be executed.
  for (absl::string_view folder : absl::StrSplit(path, ':')) {
    const std::string candidate = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    const FileFacts facts = ReadFileFacts(Absolute(candidate, workdir));
    if (facts.executable) return {candidate, 0, ""};
    if (facts.exists && !facts.folder && unusable.empty()) unusable = candidate;
  }
  if (!unusable.empty()) return NotExecutable(unusable, false);
  return {"", kNotFoundCode,
          absl::StrCat(Quoted(program), " was not found on this node in the job's PATH (",
                       Quoted(path), ").")};
}

}  // namespace accel::process
