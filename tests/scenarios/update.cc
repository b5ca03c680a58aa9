// Rewrites the expectations of the scenarios in the checkout so that they hold:
//
//   bazel run //tests/scenarios:update
//
// A person must then review the changes: `git diff tests/scenarios`.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "tests/scenarios/scenario.h"

namespace accel::scenarios {
namespace {

// Returns the scenario's text with expectations that hold. Returns nullopt, and logs the line, if a
// line is invalid or has an expectation that only a person can change.
std::optional<std::string> Updated(const std::string& path, const std::string& text) {
  Scenario scenario;
  std::istringstream lines(text);
  std::string line, updated;
  for (int number = 1; std::getline(lines, line); ++number) {
    const absl::Status played = scenario.Play(line);
    if (!played.ok()) {
      const std::optional<std::string> holds = LineThatHolds(played);
      if (!holds.has_value()) {
        std::cerr << path << ":" << number << ": " << line << "\n  " << played << "\n";
        return std::nullopt;
      }
      const size_t comment = line.find('#');
      line = *holds + (comment == std::string::npos ? "" : "  " + line.substr(comment));
    }
    updated += line + "\n";
  }
  return updated;
}

// Updates all scenarios in `folder`. Returns true if all of them hold now.
bool UpdateAll(const std::filesystem::path& folder) {
  bool all_hold = true;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const std::optional<std::string> updated = Updated(file.path(), text);
    all_hold &= updated.has_value();
    if (!updated.has_value() || *updated == text) continue;
    std::ofstream out(file.path());
    out << *updated << std::flush;
    if (!out) {
      std::cerr << file.path() << " cannot be written\n";
      return false;
    }
    std::cout << "updated " << file.path().filename().string() << "\n";
  }
  return all_hold;
}

}  // namespace
}  // namespace accel::scenarios

int main() {
  const char* checkout = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (checkout == nullptr) {
    std::cerr << "run it by: bazel run //tests/scenarios:update\n";
    return 2;
  }
  return accel::scenarios::UpdateAll(std::filesystem::path(checkout) / "tests/scenarios") ? 0 : 1;
}
