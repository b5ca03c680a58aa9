// Reads the frames of shim/testdata, which are written as hexadecimal digits, for tests:
//
//   # A comment.
//   hello:
//     4153030529000000  # header
//     08000000613078316b396671  # job
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace accel::shim {

// Returns the bytes of each frame by its name. A file that is missing fails the test.
inline std::map<std::string, std::string> ReadFrames(const std::string& path) {
  std::map<std::string, std::string> frames;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.size(), line.find('#')));
    absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::ConsumeSuffix(&text, ":")) {
      name = std::string(text);
    } else if (!text.empty()) {
      frames[name] += absl::HexStringToBytes(text);
    }
  }
  return frames;
}

}  // namespace accel::shim
