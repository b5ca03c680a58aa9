#include "tests/conformance/golden.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace accel {

nlohmann::json golden_cases(const std::string& file) {
  const char* folder = std::getenv("ACCEL_CONFORMANCE_DIR");
  const std::string path =
      (folder != nullptr ? std::string(folder) : "tests/conformance/testdata") + "/" + file;
  std::ifstream stream(path);
  nlohmann::json cases = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!stream.is_open() || !cases.is_array() || cases.empty()) {
    ADD_FAILURE() << path << " holds no JSON array of cases";
    return nlohmann::json::array();
  }
  std::printf("%zu cases of %s\n", cases.size(), path.c_str());
  return cases;
}

}  // namespace accel
