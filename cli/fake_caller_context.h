// A CallerContext made from plain values, for tests.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/program.h"

namespace accel::cli {

// The functions of the context that Get() returns read the maps at each call, so later changes are
// visible. The context must not outlive this object.
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
