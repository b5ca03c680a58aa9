// A machine made of values, for tests.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/program.h"

namespace accel::cli {

// The copies that Get() gives out see later changes of the maps; they must not outlive this.
struct FakeSurroundings {
  std::string cwd = "/home/ann";
  std::map<std::string, std::string> env;
  std::map<std::string, FileKind> files;

  Surroundings Get() const {
    return {cwd,
            [this](const std::string& name) {
              const auto it = env.find(name);
              return it == env.end() ? std::nullopt : std::optional<std::string>(it->second);
            },
            [this](const std::string& path) {
              const auto it = files.find(path);
              return it == files.end() ? FileKind::kMissing : it->second;
            }};
  }
};

}  // namespace accel::cli
