// Finds the scenario files of this folder.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace accel::scenarios {

// Returns the paths of all .txt files, sorted. Empty outside of a test.
inline std::vector<std::string> ScenarioFiles() {
  const char* root = std::getenv("TEST_SRCDIR");
  std::vector<std::string> files;
  if (root == nullptr) return files;
  const auto folder = std::filesystem::path(root) / "accel/tests/scenarios";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".txt") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace accel::scenarios
