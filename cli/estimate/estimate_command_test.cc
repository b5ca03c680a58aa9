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

TEST_F(EstimateCommand, TakesDtypesWithSpacesAndCommas) {
  const std::string file = WriteSafetensors("a.safetensors", "x");
  const std::string wanted = Estimate({"--dtypes", "float32,int8", file}).out;
  EXPECT_THAT(wanted, HasSubstr("(largest layer: x)"));
  EXPECT_THAT(wanted, HasSubstr("int8 "));
  EXPECT_EQ(Estimate({"--dtypes", "float32", "int8", file}).out, wanted);
  EXPECT_EQ(Estimate({file, "--dtypes", "float32", "int8"}).out, wanted);
  EXPECT_EQ(Estimate({"--dtypes=float32", "int8", file}).out, wanted);
}

TEST_F(EstimateCommand, SaysThatFlagsOfAccelerateHaveNoEffect) {
  const Result result = Estimate({"--library_name", "transformers", "--trust_remote_code",
                                  WriteSafetensors("a.safetensors", "x.y")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err,
            "accel: --library_name has no effect: accel reads MODEL's own files\n"
            "accel: --trust_remote_code has no effect: accel runs no code of a model\n");
  EXPECT_EQ(Estimate({"--library_name", "keras", folder_}).exit_code, 2);
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
