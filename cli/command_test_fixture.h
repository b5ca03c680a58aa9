// Test fixture that runs a command of accel in this process against a FakeCoordinator.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/fake_coordinator.h"

namespace accel::cli {

class CommandTest : public ::testing::Test {
 protected:
  struct Result {
    int exit_code = -1;
    std::string out;
    std::string err;
  };

  // Runs `command` with `args` after the flag that names the fake coordinator.
  Result Invoke(int (*command)(const std::vector<std::string>&, const Console&),
                std::vector<std::string> args) {
    args.insert(args.begin(), {"--coordinator", coordinator_.address()});
    std::ostringstream out, err;
    const int exit_code = command(args, Console{out, err});
    return {exit_code, out.str(), err.str()};
  }

  FakeCoordinator coordinator_;
};

}  // namespace accel::cli
