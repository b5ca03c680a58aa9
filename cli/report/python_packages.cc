#include "cli/report/python_packages.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxEntries = 20'000;

bool Matters(absl::string_view name) {
  for (absl::string_view one : {"torch", "accelerate", "transformers", "numpy", "deepspeed",
                                "datasets", "safetensors", "torchao", "transformer_engine"}) {
    if (name == one) return true;
  }
  return absl::StartsWith(name, "nvidia_nccl_");
}

void AddPackages(const fs::path& folder, std::map<std::string, std::string>* versions) {
  std::error_code error;
  int entries = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (++entries > kMaxEntries) return;
    const std::string file = it->path().filename().string();
    absl::string_view name = file;
    if (!absl::ConsumeSuffix(&name, ".dist-info")) continue;
    const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits('-', 1));
    if (Matters(parts.first)) versions->insert(parts);
  }
}

}  // namespace

std::map<std::string, std::string> PackageVersions(const std::string& python) {
  std::map<std::string, std::string> versions;
  const fs::path library = fs::path(python).parent_path().parent_path() / "lib";
  std::error_code error;
  for (fs::directory_iterator it(library, error), end; !error && it != end; it.increment(error)) {
    if (!absl::StartsWith(it->path().filename().string(), "python3")) continue;
    AddPackages(it->path() / "site-packages", &versions);
    AddPackages(it->path() / "dist-packages", &versions);
  }
  return versions;
}

std::string VenvPythonVersion(const std::string& python) {
  std::ifstream file(fs::path(python).parent_path().parent_path() / "pyvenv.cfg");
  std::string line;
  while (std::getline(file, line)) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (absl::StripAsciiWhitespace(parts.first) != "version") continue;
    return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return "";
}

}  // namespace accel::cli
