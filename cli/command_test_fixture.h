// Test fixture that runs a command of accel in this process against a FakeCoordinator.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
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

  CommandTest() : token_file_(::testing::TempDir() + "/token") {
    WriteToken(FakeCoordinator::kToken);
  }

  void WriteToken(const std::string& token) {
    std::ofstream(token_file_) << token << "\n";
    ::chmod(token_file_.c_str(), 0600);
  }

  // Runs `command` with `args` after the flags that name the fake coordinator and its token.
  Result Invoke(int (*command)(const std::vector<std::string>&, const Console&),
                std::vector<std::string> args) {
    args.insert(args.begin(),
                {"--coordinator", coordinator_.address(), "--token_file", token_file_});
    std::ostringstream out, err;
    const int exit_code = command(args, Console{out, err});
    return {exit_code, out.str(), err.str()};
  }

  const std::string token_file_;
  FakeCoordinator coordinator_;
};

}  // namespace accel::cli
