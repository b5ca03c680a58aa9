// The surroundings of a process as plain values, for tests.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/program.h"

namespace accel::cli {

// The functions that Get() returns read the maps when they are called, so later changes are
// visible. They must not outlive this object.
struct FakeCallerContext {
  std::string cwd = "/home/ann";
  std::map<std::string, std::string> env;
  std::map<std::string, FileKind> files;

  CallerContext Get() const {
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
