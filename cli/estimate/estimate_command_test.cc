#include "cli/estimate/estimate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace accel::cli {
namespace {

using ::testing::HasSubstr;

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Estimate(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int exit_code = RunEstimateMemory(args, Console{out, err});
  return {exit_code, out.str(), err.str()};
}

class EstimateCommand : public ::testing::Test {
 protected:
  EstimateCommand() { std::filesystem::create_directories(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }

  // Writes a file whose only tensor has 256 floats.
  std::string WriteSafetensors(const std::string& name, const std::string& tensor) {
    const std::string header =
        "{\"" + tensor + "\":{\"dtype\":\"F32\",\"shape\":[16,16],\"data_offsets\":[0,1024]}}";
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return Write(name, length + header + std::string(1024, '\0'));
  }

  const std::string folder_ = ::testing::TempDir() + "/model";
};

TEST_F(EstimateCommand, ReadsAFile) {
  const Result result = Estimate({"--dtypes", "float16", WriteSafetensors("a.safetensors", "x.y")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("float16    512.0 bytes  512.0 bytes               2.0 KB\n"));
}

TEST_F(EstimateCommand, ReadsTheShardsOfAFolder) {
  WriteSafetensors("1.safetensors", "l.0.w");
  WriteSafetensors("2.safetensors", "l.1.w");
  Write("model.safetensors.index.json",
        "{\"weight_map\": {\"l.0.w\": \"1.safetensors\", \"l.1.w\": \"2.safetensors\"}}");
  const Result result = Estimate({"--dtypes", "float32", folder_});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1.0 KB      2.0 KB               8.0 KB\n"));
}

TEST_F(EstimateCommand, RefusesWhatIsNoModel) {
  EXPECT_THAT(Estimate({"/nonexistent"}).err, HasSubstr("because accel downloads nothing"));
  EXPECT_THAT(Estimate({Write("short.safetensors", "abc")}).err, HasSubstr("it ends too early"));
  EXPECT_THAT(Estimate({Write("long.safetensors", std::string(8, '\x7f'))}).err,
              HasSubstr("its header does not fit"));
  EXPECT_EQ(Estimate({"--dtypes", "float64", folder_}).exit_code, 2);
}

}  // namespace
}  // namespace accel::cli
